"""One small deployment that tests and vectors share: fixed keys, a roster, a page, terms, a beacon.

Everything here is derived from labels, so a vector can be made again anywhere. None of it is secret.
"""

import hashlib
from collections.abc import Callable
from typing import Final

from beacon import make_local_beacon
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.lifecycle.roster import Roster, RosterMember
from bounty_protocol.domain.lifecycle.states import BountyStatus
from bounty_protocol.domain.money.abi_hashes import guardian_roster_hash
from bounty_protocol.domain.money.terms import Terms
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId, TokenAmount, UnixSeconds, address_of, bytes32
from bounty_protocol.wire.bounties import Facts


def seeded(label: str) -> Callable[[int], bytes]:
    """A source of "random" bytes that is the same each time: SHA-256 of the label and a counter."""
    state = iter(range(2**32))

    def draw(size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += hashlib.sha256(f"{label}/{next(state)}".encode()).digest()
        return data[:size]

    return draw


def account(label: str) -> Address:
    """An address made of a label."""
    return address_of(hashlib.sha256(f"account {label}".encode()).digest()[:20])


def word(label: str) -> Bytes32:
    """A 32-byte value made of a label."""
    return bytes32(hashlib.sha256(f"word {label}".encode()).digest())


def identity(label: str) -> Identity:
    """An X25519 identity made of a label."""
    return Identity(hashlib.sha256(f"identity {label}".encode()).digest())


def terms_of(args: list[str]) -> Terms:
    """The terms that ``to_args`` printed."""
    escrow, deadline, window, protocol_fee, guardian_fee = map(int, args[2:7])
    return Terms(
        Bytes32(args[0]),
        Bytes32(args[1]),
        TokenAmount(escrow),
        UnixSeconds(deadline),
        window,
        TokenAmount(protocol_fee),
        TokenAmount(guardian_fee),
        Bytes32(args[7]),
    )


CHAIN_ID: Final = ChainId(31337)
HUB: Final = account("hub")
POSTER: Final = account("poster")
SOLVER: Final = account("solver")
BOUNTY_ID: Final = BountyId(7)
PROTOCOL: Final = account("protocol")
BINDING: Final = Binding(CHAIN_ID, HUB, BOUNTY_ID, SOLVER)

GUARDIAN_IDENTITIES: Final = tuple(identity(f"guardian {number}") for number in range(3))
GUARDIANS: Final = tuple(sorted(account(f"guardian {number}") for number in range(3)))
ROSTER_HASH: Final = guardian_roster_hash(
    CHAIN_ID,
    HUB,
    version=1,
    accounts=GUARDIANS,
    encryption_public_keys=[guardian.public_key for guardian in GUARDIAN_IDENTITIES],
    quorum=2,
)
ROSTER: Final = Roster(
    version=1,
    guardian_roster_hash=ROSTER_HASH,
    quorum=2,
    members=tuple(
        RosterMember(guardian, each.public_key, None)
        for guardian, each in zip(GUARDIANS, GUARDIAN_IDENTITIES, strict=True)
    ),
)

PAGE: Final = b"""---
version: 1
title: Halve the size of our tile set
summary: The tiles of our map are too large for slow connections.
escrow_amount: "250000000"
submission_deadline: 1900000000
judging_window_seconds: 259200
acceptance_criteria:
  - Every tile decodes to the same pixels as before.
  - The set is at most half as large.
deliverables:
  - The tool that writes the tiles, with its source.
language: en
contact: tiles@example.org
---
# The tile set

Write a lossless encoder. The tiles are in `tiles.tar`.
"""
"""What commitments and envelopes are made for. It stays as it is: a new field changes ``documents.json`` alone."""
LATER_FIELDS: Final = b"tags:\n  - parser\n  - csv\n"
"""The frontmatter's lines of the fields that ``PAGE`` does not have."""
COMPLETE_PAGE: Final = PAGE.replace(b"---\n# The", LATER_FIELDS + b"---\n# The")
"""Every field."""

FACTS: Final = Facts(
    status=BountyStatus.OPEN,
    accepting=True,
    judgeable=False,
    poster_address=POSTER,
    escrow_amount=TokenAmount(25_000_000),
    spec_commitment=word("page"),
    submission_deadline=UnixSeconds(4_000_000_000),
    reveal_at=UnixSeconds(4_000_003_600),
    judging_deadline=UnixSeconds(4_000_100_000),
    guardian_roster_hash=ROSTER_HASH,
    protocol_fee=TokenAmount(0),
    guardian_fee=TokenAmount(0),
    outcome=None,
    settlement_reason=None,
    winner=None,
)
"""Of an open bounty, for tests of what reads them."""

TERMS: Final = Terms(
    spec_commitment=word("spec"),
    expected_roster_hash=ROSTER_HASH,
    escrow_amount=TokenAmount(250_000_000),
    submission_deadline=UnixSeconds(1_900_000_000),
    judging_window=259_200,
    max_protocol_fee=TokenAmount(2_500_000),
    max_guardian_fee=TokenAmount(12_500_000),
    salt=word("salt"),
)

BEACON: Final = make_local_beacon(b"vectors", genesis_time=1_700_000_000, period_seconds=3)
REVEAL_AT: Final = UnixSeconds(1_900_003_600)
ROUND: Final = BEACON.info.round_at(REVEAL_AT)
CONTENT: Final = identity("content")
