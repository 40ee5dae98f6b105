"""Events of the commands that look at bounties: the list, one of them, what happens to it, and its record."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, UnixSeconds

from service_cli.ui.event import Code, Event, JsonObject
from service_cli.ui.progress import REASONS, STEPS, Step, sentence


@dataclass(frozen=True, slots=True)
class ListedBounty(Event):
    """One item of `GET /api/bounties`, as it came."""

    EVENT: ClassVar[str] = "bounty_list.bounty"
    WHEN: ClassVar[str] = "one for each"
    SHOWN: ClassVar[str] = "bounty_id, facts, active_submission_count, finality, block, title, summary"
    OPEN: ClassVar[bool] = True
    TABLE: ClassVar[bool] = True
    more: JsonObject

    def facts(self, now: int) -> object:
        from bounty_protocol.wire.bounties import BountyItem  # what follows a bounty needs none of it
        from bounty_protocol.wire.reading import read

        from service_cli.queries.overview import row_of

        return row_of(read(BountyItem, self.more), now)


@dataclass(frozen=True, slots=True)
class ShownBounty(Event):
    """`GET /api/bounties/{bounty_id}`, as it came."""

    EVENT: ClassVar[str] = "bounty_show.bounty"
    SHOWN: ClassVar[str] = "the bounty as GET /api/bounties/{bounty_id} answers it"
    OPEN: ClassVar[bool] = True
    bounty_id: BountyId
    chain_id: ChainId
    hub_address: Address
    more: JsonObject

    def says(self) -> str:
        return "Bounty {bounty_id}"

    def facts(self, now: int) -> object:
        from bounty_protocol.wire.bounties import BountyDetail
        from bounty_protocol.wire.reading import read

        from service_cli.queries.overview import overview_of

        return overview_of(read(BountyDetail, self.json()), now)

    def document(self) -> str | None:
        challenge = self.more.get("challenge")
        return challenge if isinstance(challenge, str) else None


@dataclass(frozen=True, slots=True)
class ShownVerdict(Event):
    """A Guardian's last Verdict by the Hub. `document` is the written Verdict as it was published, whole, with its
    frontmatter; it hashes to `report_commitment`. Where the API has no such bytes, `document` is null and `code` is the
    API's own, or `verdict_mismatch` for bytes that hash to something else."""

    EVENT: ClassVar[str] = "bounty_show.verdict"
    WHEN: ClassVar[str] = "one for each, with --verdicts"
    SHOWN: ClassVar[str] = (
        "bounty_id, guardian_address, kind, solver_address, submission_commitment, report_commitment, code, document"
    )
    HIDES: ClassVar[tuple[str, ...]] = ("more",)
    OPEN: ClassVar[bool] = True
    bounty_id: BountyId
    guardian_address: Address
    kind: VerdictKind
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32
    code: Annotated[str | None, Note(pattern="^[a-z0-9_]+$")]
    more: JsonObject
    """``document``: bytes that somebody else wrote, which the text shows line by line."""

    def says(self) -> str:
        if self.more.get("document") is None:
            return "Verdict of {guardian_address}, whose written reasons are not available"
        return "Verdict of {guardian_address}"

    def document(self) -> str | None:
        document = self.more.get("document")
        return document if isinstance(document, str) else None


@dataclass(frozen=True, slots=True)
class WatchedEvent(Event):
    """An event of the Hub about this bounty: `name` is the contract's, further fields are the event's in snake_case,
    amounts as decimal strings; a Verdict's `kind` and an end's `outcome` and `reason` by their names. Without an award
    `winner` and `submission_commitment` of the end are null."""

    EVENT: ClassVar[str] = "bounty_watch.event"
    SHOWN: ClassVar[str] = "name, bounty_id, the event's fields, tx_hash, block_number"
    OPEN: ClassVar[bool] = True
    name: str
    bounty_id: BountyId
    tx_hash: Bytes32
    block_number: BlockNumber
    more: JsonObject

    def says(self) -> str:
        return "block {block_number}: " + sentence(self.name, self.more)

    def facts(self, now: int) -> object:
        return None


@dataclass(frozen=True, slots=True)
class FinalChange(Event):
    """An event of the Hub in a final block, as `GET /api/changes` lists it: `number` is its number there, `fields` are
    the contract's in snake_case. The API's word alone: check the chain before you act on it. After a restart all are
    printed again; `block_hash` and `log_index` name one."""

    EVENT: ClassVar[str] = "bounty_watch.change"
    WHEN: ClassVar[str] = "without BOUNTY_ID"
    SAYS: ClassVar[str] = "block {block_number}: {name}"
    number: int
    name: str
    bounty_id: BountyId | None
    fields: JsonObject
    block_number: BlockNumber
    block_hash: Bytes32
    log_index: int
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class RevertedEvent(Event):
    """A reorg took back an event that was printed before; if it happened again in another block, it is printed
    again."""

    EVENT: ClassVar[str] = "bounty_watch.event_removed"
    WHEN: ClassVar[str] = "after a reorg"
    SAYS: ClassVar[str] = "Withdrawn: block {block_number} was replaced by a reorg, and its events no longer count."
    bounty_id: BountyId
    tx_hash: Bytes32
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class AwaitedStep(Event):
    """The next step of the bounty, and its end in chain time (null if only people or finality decide)."""

    EVENT: ClassVar[str] = "bounty_watch.next"
    bounty_id: BountyId
    step: Step
    at: UnixSeconds | None

    def says(self) -> str:
        return f"now: {STEPS[self.step]}"

    def facts(self, now: int) -> object:
        return None


@dataclass(frozen=True, slots=True)
class FinalBounty(Event):
    """The end, in a finalized block."""

    EVENT: ClassVar[str] = "bounty_watch.final"
    bounty_id: BountyId
    outcome: Outcome
    settlement_reason: SettlementReason
    winner: Address | None
    submission_commitment: Bytes32 | None

    def says(self) -> str:
        how = "without a winner" if self.winner is None else "and awarded"
        return f"Done. Bounty {{bounty_id}} is final {how}: {REASONS[self.settlement_reason.value]}."


@dataclass(frozen=True, slots=True)
class FetchedRecord(Event):
    """The advisory record, as the API holds it."""

    EVENT: ClassVar[str] = "verification_record.fetched"
    SAYS: ClassVar[str] = "The record is evidence only; the chain decides."
    record: JsonObject

    def facts(self, now: int) -> object:
        from bounty_protocol.domain.lifecycle.record import VerificationRecord
        from bounty_protocol.wire.reading import read

        return read(VerificationRecord, self.record)


@dataclass(frozen=True, slots=True)
class UnavailableRecord(Event):
    """There is no record (yet), and why."""

    EVENT: ClassVar[str] = "verification_record.unavailable"
    code: Code

    def says(self) -> str:
        if self.code == "bounty_open":
            return "There is no VerificationRecord yet: it is derived from the outcome, and the bounty is still open."
        return "There is no VerificationRecord at the moment: it cannot be derived yet. Try again later."

    def facts(self, now: int) -> object:
        return None
