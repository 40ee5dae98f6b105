"""A final bounty's history: the evidence of chain and service, and what follows from the Hub's own log.

Evidence is plain values without any judgement, the same whether collected just now or read from a bundle. A history has
one creation, one finalization and the roster that the creation pins; everything else is computed from the log. A log
without them is refused (``log_incomplete``). Whether the rules were kept is checked in ``rules``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NoReturn, TypeVar

from service_common.chain.abi import hub_abi, snake_case
from service_common.chain.events import (
    AwardClaimed,
    BountyCreated,
    BountyFinalized,
    GuardianFeeClaimed,
    HubEvent,
    Log,
    ProtocolFeeClaimed,
    RefundClaimed,
    SubmissionRecorded,
    VerdictRecorded,
    bounty_of,
    decode_log,
)
from service_common.chain.hub import RosterView
from service_common.crypto.beacon_info import BeaconInfo
from service_common.domain.commitments import log_digest
from service_common.domain.lifecycle import Outcome, SettlementReason
from service_common.domain.record import (
    FinalBounty,
    SettlementTransaction,
    VerificationRecord,
    Winner,
    derive_record,
    recorded_verdict,
)
from service_common.domain.roster import Roster, RosterMember
from service_common.types import Address, BlockNumber, BountyId, Bytes32, ChainId, UnixSeconds, to_bytes

from service_cli.errors import CommandRefused


@dataclass(frozen=True, slots=True)
class Read:
    """One view of the Hub at the finalized block: its function, its arguments as text, its answer as it came."""

    function: str
    arguments: tuple[str, ...]
    answer: bytes


@dataclass(frozen=True, slots=True)
class FinalizedBlock:
    """The block up to which the log was read."""

    number: BlockNumber
    hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class ChainEvidence:
    """One bounty as the chain has it.

    ``logs`` are the Hub's about this bounty in the order of the chain, ``times`` those of their blocks; ``beacon`` is
    None where nobody answered.
    """

    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    finalized: FinalizedBlock
    logs: tuple[Log, ...]
    times: Mapping[Bytes32, UnixSeconds]
    reads: tuple[Read, ...]
    beacon: BeaconInfo | None


@dataclass(slots=True)
class ServiceEvidence:
    """What the service answered, as bytes. ``missing`` has by name why something is not here.

    ``active_until`` are the Guardians' last signs of life by the Hub's own view after the service answered.
    """

    detail: bytes | None = None
    active_until: tuple[int, ...] = ()
    verdicts: dict[Bytes32, bytes] = field(default_factory=dict)
    envelopes: dict[Bytes32, bytes] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def reason(self, name: str) -> str:
        """Why something is not here."""
        return self.missing.get(name, "it was not requested")


def answer_of(read: Read) -> dict[str, object] | None:
    """A view's answer by field; a struct's fields by their own names. None where it is not of the ABI's shape."""
    codec = hub_abi().functions[read.function]
    try:
        values = codec.decode(read.answer)
    except ValueError:
        return None
    outputs = codec.outputs
    if len(outputs) == 1 and outputs[0].fields:
        outputs, inner = outputs[0].fields, values[0]
        values = inner if isinstance(inner, tuple) else ()
    return {snake_case(output.name): value for output, value in zip(outputs, values, strict=True)}


E_co = TypeVar("E_co", covariant=True)
Claimed = AwardClaimed | RefundClaimed | GuardianFeeClaimed | ProtocolFeeClaimed


@dataclass(frozen=True, slots=True)
class Placed(Generic[E_co]):
    """An event, the log it comes from, and its block's time."""

    event: E_co
    log: Log
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class BountyHistory:
    """One final bounty, from its log alone."""

    chain: ChainEvidence
    events: tuple[Placed[HubEvent], ...]
    created: Placed[BountyCreated]
    finalized: Placed[BountyFinalized]
    roster: Roster

    @property
    def submissions(self) -> list[Placed[SubmissionRecorded]]:
        """Every Submission, replaced ones included."""
        return [_as(each, SubmissionRecorded) for each in self.events if isinstance(each.event, SubmissionRecorded)]

    @property
    def verdicts(self) -> list[Placed[VerdictRecorded]]:
        """Every Verdict, replaced ones included."""
        return [_as(each, VerdictRecorded) for each in self.events if isinstance(each.event, VerdictRecorded)]

    @property
    def claims(self) -> list[Placed[Claimed]]:
        """What was pulled so far."""
        return [Placed(each.event, each.log, each.time) for each in self.events if isinstance(each.event, Claimed)]

    def active_submissions(self) -> list[Placed[SubmissionRecorded]]:
        """Each Solver's last Submission, oldest first."""
        latest = {each.event.solver: each for each in self.submissions}
        return sorted(latest.values(), key=place)

    def latest_verdicts(self) -> dict[Address, Placed[VerdictRecorded]]:
        """Each Guardian's last Verdict."""
        return {each.event.guardian: each for each in self.verdicts}

    def digest(self) -> Bytes32:
        """The digest of the bounty's logs up to its end."""
        until = [each.log for each in self.events if place(each) <= place(self.finalized)]
        return log_digest(([to_bytes(topic) for topic in log.topics], log.data) for log in until)

    def final_bounty(self) -> FinalBounty:
        """The facts that a VerificationRecord is derived from."""
        created, end = self.created.event, self.finalized.event
        outcome, reason = Outcome.of_number(end.outcome), SettlementReason.of_number(end.reason)
        if outcome is None or reason is None:
            raise ValueError("a finalization without an outcome")
        awarded = outcome is Outcome.AWARDED
        return FinalBounty(
            chain_id=self.chain.chain_id,
            hub_address=self.chain.hub_address,
            bounty_id=self.chain.bounty_id,
            poster_address=created.poster,
            escrow_amount=created.escrow_amount,
            spec_commitment=created.spec_commitment,
            protocol_fee=created.protocol_fee,
            guardian_fee=created.guardian_fee,
            protocol_fee_recipient=created.protocol_fee_recipient,
            outcome=outcome,
            settlement_reason=reason,
            winner=Winner(end.winner, end.submission_commitment) if awarded else None,
            roster=self.roster,
        )

    def record(self) -> VerificationRecord:
        """The VerificationRecord as anybody derives it."""
        end = self.finalized.log
        settled_by = SettlementTransaction(end.tx_hash, end.block_number, end.block_hash)
        verdicts = [recorded_verdict(each.event) for each in self.latest_verdicts().values()]
        return derive_record(self.final_bounty(), verdicts, settled_by, self.digest())


def read_history(chain: ChainEvidence) -> BountyHistory:
    """Read the log of a final bounty."""
    try:
        placed = [Placed(decode_log(log), log, chain.times[log.block_hash]) for log in chain.logs]
    except (ValueError, KeyError, TypeError):
        _incomplete("a log is none of the Hub's, or its block is not known")
    placed.sort(key=place)
    own = tuple(each for each in placed if bounty_of(each.event) == chain.bounty_id)
    created, finalized = _only(own, BountyCreated), _only(own, BountyFinalized)
    history = BountyHistory(chain, own, created, finalized, _roster(chain, created.event))
    try:
        history.final_bounty()
        for verdict in history.verdicts:
            recorded_verdict(verdict.event)
    except ValueError as error:
        _incomplete(str(error))
    return history


def place(placed: Placed[object]) -> tuple[int, int]:
    """An event's place in the chain."""
    return placed.log.block_number, placed.log.log_index


def _roster(chain: ChainEvidence, created: BountyCreated) -> Roster:
    """The pinned roster as the Hub shows it; ``rules`` holds its members against the hash that the bounty pinned."""
    read = next((read for read in chain.reads if read.function == "getRoster"), None)
    fields = None if read is None else answer_of(read)
    if fields is None:
        _incomplete("the roster that the bounty pinned is not shown")
    view = RosterView(**fields)  # type: ignore[arg-type]  # the ABI fixes names and types, answer_of checked them
    if not len(view.accounts) == len(view.encryption_keys) == len(view.last_active_at):
        _incomplete("the roster that the bounty pinned is not shown whole")
    members = zip(view.accounts, view.encryption_keys, strict=True)
    return Roster(
        version=created.roster_version,
        guardian_roster_hash=view.guardian_roster_hash,
        quorum=view.quorum,
        members=tuple(RosterMember(account, key, None) for account, key in members),
    )


def _only(placed: tuple[Placed[HubEvent], ...], kind: type[E_co]) -> Placed[E_co]:
    found: Iterator[Placed[E_co]] = (_as(each, kind) for each in placed if isinstance(each.event, kind))
    everything = list(found)
    if len(everything) != 1:
        _incomplete(f"{len(everything)} logs of {kind.__name__} where there is one")
    return everything[0]


def _as(placed: Placed[object], kind: type[E_co]) -> Placed[E_co]:
    if not isinstance(placed.event, kind):
        raise TypeError(f"not {kind.__name__}")
    return Placed(placed.event, placed.log, placed.time)


def _incomplete(what: str) -> NoReturn:
    message = f"The log does not show a final bounty: {what}."
    next_action = "Ask another RPC endpoint; of a bundle, get another copy."
    raise CommandRefused("log_incomplete", message, next_action=next_action)
