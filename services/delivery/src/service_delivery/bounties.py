"""What a wrap or a retrieval needs of a bounty, kept for a moment: Guardians send many wraps of one.

All of it is finalized, but for the ending, which is refused while it is not, and at most two seconds old. A refusal is
never kept. An envelope's public half is checked against the commitment once, and a hash does not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.document import Envelope, parse_envelope
from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.domain.lifecycle.hub_events import BountyFinalized
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32
from service_common.db import app as t
from service_common.db.engine import single
from service_common.db.hub_facts import FactSource, HubFacts
from service_common.recent import Recent
from sqlalchemy import Connection, select

from service_delivery.keys import Keys, read_keys


@dataclass(frozen=True, slots=True)
class KnownBounty:
    """One bounty, and the keys, at one moment of the index."""

    facts: HubFacts
    """The moment; its connection is given back."""
    bounty: Bounty
    guardians: frozenset[Address]
    keys: Keys

    @property
    def ending(self) -> BountyFinalized | None:
        """How it ended, None while it is open; 503 while that can still change."""
        return self.facts.ending(self.bounty)


class Bounties:
    """The bounties of requests, kept for a second (``service.delivery``), and the keyring. Thread-safe."""

    def __init__(self, source: FactSource, keyring: Sequence[Identity], grace_seconds: int) -> None:
        self.source, self.keyring, self.grace_seconds = source, keyring, grace_seconds
        self._bounties: Recent[BountyId, KnownBounty] = Recent(1.0, 512, source.clock)
        self._keys: Recent[tuple[BountyId, Address, Bytes32], Bytes32] = Recent(60.0, 512, source.clock)

    def known(self, bounty_id: BountyId) -> KnownBounty:
        """Return Poster, roster, ending and the keys in use; 404 and 503 as the facts require."""

        def look_up() -> KnownBounty:
            with self.source.open() as facts:
                bounty = facts.bounty(bounty_id)
                guardians = frozenset(facts.roster(bounty).accounts)
                keys = read_keys(facts.connection, facts.head.block_time, self.keyring)
                return KnownBounty(facts, bounty, guardians, keys)

        return self._bounties.get(bounty_id, look_up)

    def content_public_key(self, bounty_id: BountyId, solver: Address, commitment: Bytes32) -> Bytes32:
        """Return the public half that the envelope behind a commitment names."""

        def look_up() -> Bytes32:
            with single(self.source.engine) as connection:
                return read_envelope(connection, bounty_id, solver, commitment).content_public_key

        return self._keys.get((bounty_id, solver, commitment), look_up)


def read_envelope(connection: Connection, bounty_id: BountyId, solver: Address, commitment: Bytes32) -> Envelope:
    """Read the envelope behind an indexed commitment from the api's table. It counts only once it hashes to the
    commitment, and names the pair's Solver and this bounty.
    """
    c = t.submission_envelopes.c
    stored = connection.execute(
        select(c.content).where(c.bounty_id == bounty_id, c.solver == solver, c.submission_commitment == commitment)
    ).scalar()
    if stored is None:
        raise ServiceError("submission_not_found", "The envelope of this Submission is not stored here.")
    message = "The stored envelope does not hash to the Submission's commitment."
    altered = ServiceError("solver_submission_content_invalid", message)
    try:
        envelope = parse_envelope(bytes(stored))
    except ServiceError as error:
        raise altered from error
    if envelope.commitment() != commitment or (envelope.bounty_id, envelope.solver_address) != (bounty_id, solver):
        raise altered
    return envelope
