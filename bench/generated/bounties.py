"""The events of each bounty of a generated chain, as the Hub would log it, derived from the bounty's number alone.

Amounts, fees, times and rosters fit together as on a real Hub, and each page hashes to its bounty's commitment, so that
every table, total, list and VerificationRecord of an index of this chain is as in a deployment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.lifecycle.hub_events import (
    AwardClaimed,
    BountyCreated,
    BountyFinalized,
    DeliveryKeyPublished,
    FeePolicyChanged,
    GuardianFeeClaimed,
    GuardianHeartbeat,
    HubEvent,
    ProtocolFeeClaimed,
    RefundClaimed,
    RosterPublished,
    SubmissionRecorded,
    VerdictRecorded,
)
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money.abi_hashes import guardian_roster_hash
from bounty_protocol.domain.money.amounts import Settlement, fee_amount, settlement
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import (
    ZERO_ADDRESS,
    ZERO_BYTES32,
    Address,
    BlockNumber,
    BountyId,
    Bytes32,
    ChainId,
    RosterVersion,
    TokenAmount,
    UnixSeconds,
    address_of,
    bytes32,
)

CHAIN: Final = ChainId(31_337)
BLOCK_SECONDS: Final = 600
STARTED: Final = 1_600_000_000
SOLVERS, SUBMISSIONS, HEARTBEATS = 25, 30, 7
"""Of each bounty: five of its Solvers submit twice."""
EVENTS: Final = 51
"""Of an awarded bounty; one of ten ends without an award, and then two claims fewer."""
PROTOCOL_FEE_BPS, GUARDIAN_FEE_BPS, QUORUM = 250, 500, 3
BOUNTIES_OF_POSTER: Final = 20


def hash_of(*parts: object) -> Bytes32:
    """Return a hash of its own for these parts."""
    return bytes32(keccak256(repr(parts).encode()))


def account(kind: str, number: int) -> Address:
    """Return the account of this kind with this number."""
    return address_of(keccak256(f"{kind} {number}".encode())[:20])


HUB: Final = account("hub", 0)
PROTOCOL: Final = account("protocol", 0)
GUARDIANS: Final = tuple(sorted(account("guardian", number) for number in range(5)))
KEYS: Final = tuple(hash_of("key", guardian) for guardian in GUARDIANS)
ROSTER: Final = guardian_roster_hash(
    CHAIN, HUB, version=1, accounts=GUARDIANS, encryption_public_keys=KEYS, quorum=QUORUM
)


def time_of(block: int) -> UnixSeconds:
    """Return when a block was made."""
    return UnixSeconds(STARTED + block * BLOCK_SECONDS)


def first_events() -> tuple[HubEvent, ...]:
    """Return the owner's events before there are bounties."""
    now = time_of(1)
    return (
        FeePolicyChanged(PROTOCOL_FEE_BPS, GUARDIAN_FEE_BPS, PROTOCOL),
        RosterPublished(RosterVersion(1), ROSTER, GUARDIANS, KEYS, QUORUM, now),
        DeliveryKeyPublished(hash_of("delivery key"), now),
    )


@dataclass(frozen=True, slots=True)
class Challenge:
    """A bounty's page and what lists show of it."""

    title: str
    summary: str
    escrow: TokenAmount
    deadline: UnixSeconds
    judging_window: int

    @property
    def content(self) -> bytes:
        """The exact bytes."""
        return (
            f'---\nversion: 1\ntitle: "{self.title}"\nsummary: "{self.summary}"\n'
            f"escrow_amount: {self.escrow}\nsubmission_deadline: {self.deadline}\n"
            f"judging_window_seconds: {self.judging_window}\n"
            'acceptance_criteria:\n  - "`parse` returns the same"\ndeliverables:\n  - "one file"\nlanguage: en\n'
            f"---\n\n# {self.title}\n\n" + "A paragraph of a task with *some* emphasis and `code`.\n" * 20
        ).encode()


@dataclass(frozen=True, slots=True)
class Population:
    """How many bounties there are, and how many blocks each one is open: so many are open at once.

    Accounts are as many as make each one's share the same whatever the number of bounties is.
    """

    bounties: int
    life: int

    @property
    def posters(self) -> int:
        return max(1, self.bounties // BOUNTIES_OF_POSTER)

    @property
    def solvers(self) -> int:
        return max(SOLVERS, self.bounties // 2)

    @property
    def last_block(self) -> BlockNumber:
        """The block in which the last bounty is created."""
        return self.created_in(self.bounties)

    def created_in(self, bounty: int) -> BlockNumber:
        """Return the block that a bounty is created in."""
        return BlockNumber(1 + bounty)

    def poster(self, bounty: int) -> Address:
        return account("poster", bounty % self.posters)

    def solver(self, bounty: int, place: int) -> Address:
        return account("solver", (bounty + place % SOLVERS) % self.solvers)

    def deadline(self, bounty: int) -> UnixSeconds:
        """Return the submission deadline."""
        return time_of(self.created_in(bounty) + self.life * 6 // 10)

    def reveal_at(self, bounty: int) -> UnixSeconds:
        """Return a block behind it."""
        return UnixSeconds(self.deadline(bounty) + BLOCK_SECONDS)

    def judging_deadline(self, bounty: int) -> UnixSeconds:
        """Behind the Verdict that decides."""
        return time_of(self.created_in(bounty) + self.life * 11 // 10)

    def challenge(self, bounty: int) -> Challenge:
        """Return a page: each has the word ``parser``, and ``rare<n>`` is in twenty that follow one another."""
        title = f"A fast parser of format {bounty}"
        summary = f"At least three times as fast as the one of library rare{bounty // BOUNTIES_OF_POSTER} today"
        window = self.judging_deadline(bounty) - self.reveal_at(bounty)
        return Challenge(title, summary, _escrow(bounty), self.deadline(bounty), window)

    def open_page(self, bounty: int) -> Bytes32 | None:
        """Return the page of a bounty that is open at the last block; None if there is none, or it ended."""
        is_open = self.bounties - self.life < bounty <= self.bounties
        return spec_commitment(self.challenge(bounty).content) if is_open else None

    def timeline(self) -> list[tuple[int, Callable[[int], HubEvent | None]]]:
        """Return the events of any bounty in their order: how many blocks after its creation, and what it is then."""
        return sorted(self._timeline(), key=lambda each: each[0])

    def _timeline(self) -> Iterator[tuple[int, Callable[[int], HubEvent | None]]]:
        life = self.life
        yield 0, self._created
        for place in range(SUBMISSIONS):
            yield 1 + place * (life * 6 // 10 - 2) // SUBMISSIONS, lambda n, k=place: self._submitted(n, k)  # type: ignore[misc]
        for place in range(HEARTBEATS):
            yield life * place // 8, lambda n, k=place: GuardianHeartbeat(_guardian(n, k))  # type: ignore[misc]
        for place in range(5):
            yield life - (4 - place) * (life // 25), lambda n, k=place: self._judged(n, k)  # type: ignore[misc]
        yield life, self._finalized
        yield life + 1, self._award_claimed
        yield life + 2, self._refund_claimed
        for place in range(4):
            yield life + 3 + place, lambda n, k=place: self._guardian_claimed(n, k)  # type: ignore[misc]
        yield life + 7, self._protocol_claimed

    def _created(self, n: int) -> HubEvent:
        escrow = _escrow(n)
        return BountyCreated(
            poster=self.poster(n),
            spec_commitment=spec_commitment(self.challenge(n).content),
            guardian_roster_hash=ROSTER,
            roster_version=RosterVersion(1),
            escrow_amount=escrow,
            submission_deadline=self.deadline(n),
            reveal_at=self.reveal_at(n),
            judging_deadline=self.judging_deadline(n),
            protocol_fee=fee_amount(escrow, PROTOCOL_FEE_BPS),
            guardian_fee=fee_amount(escrow, GUARDIAN_FEE_BPS),
            protocol_fee_recipient=PROTOCOL,
            bounty_id=BountyId(n),
            authorization_nonce=hash_of("nonce", n),
        )

    def _submitted(self, n: int, place: int) -> HubEvent:
        return SubmissionRecorded(BountyId(n), self.solver(n, place), hash_of("submission", n, place))

    def _judged(self, n: int, place: int) -> HubEvent:
        """Return the Verdicts: the first Guardian changes its mind at the end, which makes the quorum."""
        agrees = place not in {0, 2}
        awards = agrees == _is_awarded(n)
        return VerdictRecorded(
            BountyId(n),
            _guardian(n, place % 4),
            VerdictKind.AWARDED if awards else VerdictKind.NO_VALID_SUBMISSION,
            self.solver(n, 6) if awards else ZERO_ADDRESS,
            hash_of("submission", n, 6) if awards else ZERO_BYTES32,
            hash_of("report", n, place),
        )

    def _finalized(self, n: int) -> HubEvent:
        awarded, figures = _is_awarded(n), _settlement(n)
        return BountyFinalized(
            bounty_id=BountyId(n),
            outcome=Outcome.AWARDED if awarded else Outcome.NO_VALID_SUBMISSION,
            reason=SettlementReason.JUDGED,
            winner=self.solver(n, 6) if awarded else ZERO_ADDRESS,
            submission_commitment=hash_of("submission", n, 6) if awarded else ZERO_BYTES32,
            award=figures.award,
            refund=figures.refund,
            protocol_fee=figures.protocol_fee,
            guardian_fee_each=figures.guardian_fee_each,
            guardian_fee_count=figures.guardian_fee_count,
        )

    def _award_claimed(self, n: int) -> HubEvent | None:
        return AwardClaimed(BountyId(n), self.solver(n, 6), _settlement(n).award) if _is_awarded(n) else None

    def _refund_claimed(self, n: int) -> HubEvent:
        return RefundClaimed(BountyId(n), self.poster(n), _settlement(n).refund)

    def _guardian_claimed(self, n: int, place: int) -> HubEvent:
        return GuardianFeeClaimed(BountyId(n), _guardian(n, place), _settlement(n).guardian_fee_each)

    def _protocol_claimed(self, n: int) -> HubEvent | None:
        return ProtocolFeeClaimed(BountyId(n), PROTOCOL, _settlement(n).protocol_fee) if _is_awarded(n) else None


def _guardian(n: int, place: int) -> Address:
    return GUARDIANS[(n + place) % len(GUARDIANS)]


def _is_awarded(n: int) -> bool:
    return n % 10 != 0


def _escrow(n: int) -> TokenAmount:
    return TokenAmount((n % 1_000 + 1) * 1_000_000)


def _settlement(n: int) -> Settlement:
    escrow = _escrow(n)
    return settlement(
        Outcome.AWARDED if _is_awarded(n) else Outcome.NO_VALID_SUBMISSION,
        escrow_amount=escrow,
        protocol_fee=fee_amount(escrow, PROTOCOL_FEE_BPS),
        guardian_fee=fee_amount(escrow, GUARDIAN_FEE_BPS),
        roster_size=len(GUARDIANS),
        verdict_count=4,
    )
