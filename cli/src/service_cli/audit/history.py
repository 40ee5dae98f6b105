"""A final bounty's history: the evidence of chain and service, and what follows from the Hub's own log.

Evidence is plain values without any judgement, the same whether collected just now or read from a bundle. A history has
one creation, one finalization and the roster that the creation pins; everything else is computed from the log. A log
without them is refused (``log_incomplete``). Whether the rules were kept is checked in ``rules``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeVar

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.events import Log, decode_log
from bounty_protocol.chain.hub import RosterView
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.domain.bounty import Bounty
from bounty_protocol.domain.commitments import log_digest
from bounty_protocol.domain.hub_events import (
    AwardClaimed,
    BountyCreated,
    BountyFinalized,
    GuardianFeeClaimed,
    HubEvent,
    Logged,
    ProtocolFeeClaimed,
    RefundClaimed,
    SubmissionRecorded,
    VerdictRecorded,
    bounty_of,
)
from bounty_protocol.domain.record import VerificationRecord, derive_record
from bounty_protocol.domain.roster import Roster, RosterMember
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, HexData, UnixSeconds, to_bytes

from service_cli.errors import CommandRefused


@dataclass(frozen=True, slots=True)
class Read:
    """One view of the Hub at the finalized block: its function, its arguments as text, its answer as it came."""

    function: str
    arguments: tuple[str, ...]
    answer: HexData


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


LAST_ACTIVE: Final = "last_active_at"


@dataclass(slots=True)
class ServiceEvidence:
    """The service's answers, as bytes. ``missing`` has by name why something is not here.

    ``active_until`` are the Guardians' last signs of life by the Hub's own view after the service answered. It cannot
    know of all of them where ``missing`` has ``LAST_ACTIVE``: its index had not read the finalized block yet.
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
    try:
        return hub_abi().functions[read.function].decode_named(read.answer)
    except ValueError:
        return None


E_co = TypeVar("E_co", covariant=True)
Claimed = AwardClaimed | RefundClaimed | GuardianFeeClaimed | ProtocolFeeClaimed


@dataclass(frozen=True, slots=True)
class BountyHistory:
    """One final bounty, from its log alone."""

    chain: ChainEvidence
    events: tuple[Logged[HubEvent], ...]
    logs: tuple[Log, ...]
    """The logs of the events, in the same order."""
    created: Logged[BountyCreated]
    finalized: Logged[BountyFinalized]
    roster: Roster

    @property
    def bounty(self) -> Bounty:
        return Bounty(self.created, self.finalized)

    @property
    def submissions(self) -> list[Logged[SubmissionRecorded]]:
        """Every Submission, relogged ones included."""
        return [_as(each, SubmissionRecorded) for each in self.events if isinstance(each.event, SubmissionRecorded)]

    @property
    def verdicts(self) -> list[Logged[VerdictRecorded]]:
        """Every Verdict, relogged ones included."""
        return [_as(each, VerdictRecorded) for each in self.events if isinstance(each.event, VerdictRecorded)]

    @property
    def claims(self) -> list[Logged[Claimed]]:
        """The amounts pulled so far."""
        return [Logged(each.event, each.origin) for each in self.events if isinstance(each.event, Claimed)]

    def active_submissions(self) -> list[Logged[SubmissionRecorded]]:
        """Each Solver's last Submission, oldest first."""
        latest = {each.event.solver: each for each in self.submissions}
        return sorted(latest.values(), key=lambda each: each.origin.place)

    def latest_verdicts(self) -> dict[Address, Logged[VerdictRecorded]]:
        """Each Guardian's last Verdict."""
        return {each.event.guardian: each for each in self.verdicts}

    def digest(self) -> Bytes32:
        """The digest of the bounty's logs up to its end."""
        end = self.finalized.origin.place
        until = [log for log in self.logs if (log.block_number, log.log_index) <= end]
        return log_digest(([to_bytes(topic) for topic in log.topics], log.data) for log in until)

    def record(self) -> VerificationRecord:
        """The VerificationRecord as anybody derives it."""
        chain, verdicts = self.chain, [each.event for each in self.latest_verdicts().values()]
        return derive_record(chain.chain_id, chain.hub_address, self.bounty, self.roster, verdicts, self.digest())


def read_history(chain: ChainEvidence) -> BountyHistory:
    """Read the log of a final bounty."""
    try:
        events = [(Logged(decode_log(log), log.origin(chain.times[log.block_hash])), log) for log in chain.logs]
    except (ValueError, KeyError, TypeError) as error:
        _incomplete(f"a log is none of the Hub's, or its block is not known ({error})")
    own = [(event, log) for event, log in events if bounty_of(event.event) == chain.bounty_id]
    own.sort(key=lambda pair: pair[0].origin.place)
    found = tuple(event for event, _ in own)
    created, finalized = _only(found, BountyCreated), _only(found, BountyFinalized)
    return BountyHistory(chain, found, tuple(log for _, log in own), created, finalized, _roster(chain, created.event))


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


def _only(logged: tuple[Logged[HubEvent], ...], kind: type[E_co]) -> Logged[E_co]:
    found: Iterator[Logged[E_co]] = (_as(each, kind) for each in logged if isinstance(each.event, kind))
    everything = list(found)
    if len(everything) != 1:
        _incomplete(f"{len(everything)} logs of {kind.__name__} where there is one")
    return everything[0]


def _as(logged: Logged[object], kind: type[E_co]) -> Logged[E_co]:
    if not isinstance(logged.event, kind):
        raise TypeError(f"not {kind.__name__}")
    return Logged(logged.event, logged.origin)


def _incomplete(what: str) -> NoReturn:
    message = f"The log does not show a final bounty: {what}."
    next_action = "Ask another RPC endpoint; of a bundle, get another copy."
    raise CommandRefused("log_incomplete", message, next_action=next_action)
