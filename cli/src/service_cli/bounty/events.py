"""Events of the commands that look at bounties: the list, one of them, what happens to it, and its record."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from bounty_protocol.domain.lifecycle import Outcome, Schedule, SettlementReason, VerdictKind
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, UnixSeconds

from service_cli.ui.event import Code, Event, JsonObject
from service_cli.ui.items import Column, Field, Heading, Row, Shown
from service_cli.ui.phrases import at, following, safe, short, time_left, to_the_minute, tokens, why
from service_cli.ui.progress import Step, next_step, sentence
from service_cli.ui.text import relative

if TYPE_CHECKING:
    from bounty_protocol.wire.bounties import Facts

    from service_cli.ui.render.screen import Screen


_BOUNTIES: Final = (
    Column("BOUNTY"),
    Column("AWARD"),
    Column("WORK", optional=3),
    Column("STATE", optional=1),
    Column("UNTIL (UTC)", optional=2),
    Column("LEFT"),
    Column("TITLE", flexible=True),
)
_STATES: Final = {"submissions": "accepting", "reveal": "sealed", "judging": "judging", "settlement": "to settle"}
"""A bounty's state in a column, by the step it is in."""


@dataclass(frozen=True, slots=True)
class ListedBounty(Event):
    """One item of `GET /api/bounties`, as it came."""

    EVENT: ClassVar[str] = "bounty_list.bounty"
    WHEN: ClassVar[str] = "one for each"
    SHOWN: ClassVar[str] = "bounty_id, facts, active_submission_count, finality, block, title, summary"
    OPEN: ClassVar[bool] = True
    more: JsonObject

    def text(self, screen: "Screen") -> Iterator[Shown]:
        from bounty_protocol.wire.bounties import BountyItem  # what follows a bounty needs none of it
        from bounty_protocol.wire.reading import read

        item = read(BountyItem, self.more)
        count, facts = item.active_submission_count, item.facts
        award = facts.escrow_amount - facts.protocol_fee - facts.guardian_fee
        state, until = _state(facts, count, screen)
        exact, left = to_the_minute(until), time_left(until, screen)
        absent = "withheld by the service's operator" if item.withheld else "no page of this commitment is known"
        title = safe(item.title or absent, 200)
        yield Row(_BOUNTIES, (str(item.bounty_id), tokens(award, screen), str(count), state, exact, left, title))


def _state(facts: "Facts", count: int, screen: "Screen") -> tuple[str, int | None]:
    if facts.outcome is not None:
        return (screen.good("awarded") if facts.winner is not None else "no winner"), None
    schedule = Schedule(facts.submission_deadline, facts.reveal_at, facts.judging_deadline)
    step = next_step(schedule, screen.now, has_submissions=count > 0, is_final=False)
    return _STATES[step.step], step.at


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

    def text(self, screen: "Screen") -> Iterator[Shown]:
        from bounty_protocol.wire.bounties import BountyDetail
        from bounty_protocol.wire.reading import read

        from service_cli.ui.render.page import bounty_page

        yield from bounty_page(read(BountyDetail, self.json()), screen)


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

    def text(self, screen: "Screen") -> Iterator[Shown]:
        from bounty_protocol.domain.verdict import parse_verdict
        from bounty_protocol.errors import ServiceError

        from service_cli.ui.render.markdown import markdown_items, plain_items

        yield Heading(f"Verdict of {short(self.guardian_address)}")
        yield Field("Guardian", self.guardian_address, whole=True)
        if self.solver_address is None:
            yield "No valid Submission."
        else:
            yield Field("Award", self.solver_address, whole=True)
            yield Field("Submission", self.submission_commitment or "", whole=True)
        yield Field("Commitment", self.report_commitment, whole=True)
        document = self.more.get("document")
        if isinstance(document, str):
            try:
                yield from markdown_items(parse_verdict(document.encode()).body)
            except (ServiceError, UnicodeEncodeError):
                yield "The document is none in the form of a written Verdict; it is shown as it came."
                yield from plain_items(document)
        elif self.code == "verdict_mismatch":
            yield "The API's document is not the one that was recorded, so it is not shown."
        else:
            yield f"The written reasons are not available{'' if self.code is None else f' ({self.code})'}."


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

    def text(self, screen: "Screen") -> Iterator[Shown]:
        when = f"block {self.block_number}"
        if screen.about.happened_at is not None:
            when = f"{relative(screen.about.happened_at, screen.now)}, {when}"
        fields = {"bounty_id": self.bounty_id, **self.more}
        happened = sentence(self.name, fields, lambda value: tokens(value, screen), _brief)
        yield f"{screen.quiet(when)}: {happened}"


def _brief(value: object) -> str:
    return short(safe(value, 80))


@dataclass(frozen=True, slots=True)
class FinalChange(Event):
    """An event of the Hub in a final block, as `GET /api/changes` lists it: `number` is its number there, `fields` are
    the contract's in snake_case. The API's word alone: check the chain before you act on it. After a restart all are
    printed again; `block_hash` and `log_index` name one."""

    EVENT: ClassVar[str] = "bounty_watch.change"
    WHEN: ClassVar[str] = "without BOUNTY_ID"
    number: int
    name: str
    bounty_id: BountyId | None
    fields: JsonObject
    block_number: BlockNumber
    block_hash: Bytes32
    log_index: int
    tx_hash: Bytes32
    time: UnixSeconds

    def text(self, screen: "Screen") -> Iterator[Shown]:
        of_bounty = "" if self.bounty_id is None else f" of bounty {self.bounty_id}"
        yield f"{screen.quiet(f'block {self.block_number}')}: {safe(self.name, 80)}{of_bounty}"


@dataclass(frozen=True, slots=True)
class RevertedEvent(Event):
    """A reorg took back an event that was printed before; if it happened again in another block, it is printed
    again."""

    EVENT: ClassVar[str] = "bounty_watch.event_removed"
    WHEN: ClassVar[str] = "after a reorg"
    bounty_id: BountyId
    tx_hash: Bytes32
    block_number: BlockNumber

    def text(self, screen: "Screen") -> Iterator[Shown]:
        gone = f"block {self.block_number} was replaced"
        yield f"{screen.bad('taken back')}: {gone}, and what happened in it no longer counts"


@dataclass(frozen=True, slots=True)
class AwaitedStep(Event):
    """The next step of the bounty, and its end in chain time (null where only people or finality decide)."""

    EVENT: ClassVar[str] = "bounty_watch.next"
    bounty_id: BountyId
    step: Step
    at: UnixSeconds | None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        until = "" if self.at is None else at(self.at, screen)
        texts = {
            "submissions": f"Submissions are accepted until {until}",
            "reveal": f"the work is sealed until {until}",
            "judging": f"Guardians judge until {until}",
            "settlement": "time is up; anyone can settle it now",
            "finality": "the outcome is on chain; waiting until its block is finalized",
        }
        yield f"{screen.strong('now')}: {texts.get(self.step, self.step)}"


@dataclass(frozen=True, slots=True)
class FinalBounty(Event):
    """The end, in a finalized block."""

    EVENT: ClassVar[str] = "bounty_watch.final"
    bounty_id: BountyId
    outcome: Outcome
    settlement_reason: SettlementReason
    winner: Address | None
    submission_commitment: Bytes32 | None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        bounty_id, reason = self.bounty_id, why(self.settlement_reason)
        winner = self.winner
        if winner is None:
            yield f"{screen.strong('Ended.')} Bounty {bounty_id} is final without a winner: {reason}."
            yield _last_step("Poster", bounty_id, paid=screen.about.paid)
            return
        yield f"{screen.good('Ended.')} Bounty {bounty_id} is final and awarded: {reason}."
        yield Field("Winner", winner, whole=True)
        yield Field("Submission", self.submission_commitment or "", whole=True)
        yield _last_step("winner", bounty_id, paid=screen.about.paid)


def _last_step(who: str, bounty_id: BountyId, *, paid: bool) -> Field:
    if paid:
        return Field("Paid", f"the {who} has claimed; service-cli status shows what waits for you")
    return Field("Next", f"the {who} runs service-cli claim {bounty_id}")


@dataclass(frozen=True, slots=True)
class FetchedRecord(Event):
    """The advisory record, as the API holds it."""

    EVENT: ClassVar[str] = "verification_record.fetched"
    record: JsonObject

    def text(self, screen: "Screen") -> Iterator[Shown]:
        from bounty_protocol.domain.record import VerificationRecord
        from bounty_protocol.wire.reading import read

        from service_cli.ui.render.record import record_items

        record = read(VerificationRecord, self.record)
        yield from record_items(record, screen)
        yield Heading("Evidence")
        yield Field("Settled", f"in block {record.settlement.block_number}")
        yield Field("Transaction", record.settlement.tx_hash, whole=True)
        yield Field("Log digest", record.log_digest, whole=True)
        yield "The record is evidence only; the chain decides."
        yield following(f"bounty:show {record.bounty_id}")


@dataclass(frozen=True, slots=True)
class UnavailableRecord(Event):
    """There is no record (yet), and why."""

    EVENT: ClassVar[str] = "verification_record.unavailable"
    code: Code

    def text(self, screen: "Screen") -> Iterator[Shown]:
        if self.code == "bounty_open":
            yield "There is no VerificationRecord yet: it is derived from the outcome, and the bounty is still open."
        else:
            yield "There is no VerificationRecord at the moment: it cannot be derived yet; try again later."
