"""Bounties as text: the list, what happens to one, and its VerificationRecord. ``page`` has a whole one."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from service_common.domain.lifecycle import Schedule

from service_cli.shell.progress import next_step, sentence
from service_cli.shell.render.fields import Fields, at, following, safe, short, time_left, to_the_minute, tokens, why
from service_cli.shell.render.screen import Column, Fact, Heading, Item, Row, Screen, Shown
from service_cli.shell.text import About, relative

if TYPE_CHECKING:
    from service_common.wire.bounties import Facts

_BOUNTIES: Final = (
    Column("BOUNTY"),
    Column("AWARD"),
    Column("WORK", optional=3),
    Column("STATE"),
    Column("UNTIL (UTC)", optional=2),
    Column("LEFT", optional=1),
    Column("TITLE", flexible=True),
)
_STATES: Final = {"submissions": "accepting", "reveal": "sealed", "judging": "judging", "settlement": "to settle"}
"""A bounty's state in a column, by the step it is in."""


def _listed(fields: Fields, about: About, screen: Screen) -> Iterator[Shown]:
    from service_common.wire.bounties import BountyItem  # what follows a bounty needs none of it
    from service_common.wire.reading import read

    item = read(BountyItem, dict(fields.values))
    count, facts = item.active_submission_count, item.facts
    award = facts.escrow_amount - facts.protocol_fee - facts.guardian_fee
    state, until = _state(facts, count, screen)
    exact, left = to_the_minute(until), time_left(until, screen)
    title = safe(item.title or "no page of this commitment is known", 200)
    yield Row(_BOUNTIES, (str(item.bounty_id), tokens(award, about.token), str(count), state, exact, left, title))


def _state(facts: "Facts", count: int, screen: Screen) -> tuple[str, int | None]:
    if facts.outcome is not None:
        return (screen.good("awarded") if facts.winner is not None else "no winner"), None
    schedule = Schedule(facts.submission_deadline, facts.reveal_at, facts.judging_deadline)
    step = next_step(schedule, screen.now, has_submissions=count > 0, is_final=False)
    return _STATES[step.step], step.at


def _event(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    when = f"block {fields.whole('block_number')}"
    if about.happened_at is not None:
        when = f"{relative(about.happened_at, screen.now)}, {when}"
    told = sentence(fields.text("name"), fields.values, lambda value: tokens(value, about.token), _brief)
    yield f"{screen.quiet(when)}: {told}"


def _brief(value: object) -> str:
    return short(safe(value, 80))


def _event_removed(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    gone = f"block {fields.whole('block_number')} was replaced"
    yield f"{screen.bad('taken back')}: {gone}, and what happened in it no longer counts"


def _next(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    moment_of = fields.maybe_whole("at")
    until = "" if moment_of is None else at(moment_of, screen)
    texts = {
        "submissions": f"Submissions are accepted until {until}",
        "reveal": f"the work is sealed until {until}",
        "judging": f"Guardians judge until {until}",
        "settlement": "time is up; anyone can settle it now",
        "finality": "the outcome is on chain; waiting until its block is finalized",
    }
    step = fields.text("step")
    yield f"{screen.strong('now')}: {texts.get(step, step)}"


def _final(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    bounty_id, reason = fields.text("bounty_id"), why(fields.maybe("settlement_reason"))
    winner = fields.maybe("winner")
    if winner is None:
        yield f"{screen.strong('Ended.')} Bounty {bounty_id} is final without a winner: {reason}."
        yield _last_step("Poster", bounty_id, paid=about.paid)
        return
    yield f"{screen.good('Ended.')} Bounty {bounty_id} is final and awarded: {reason}."
    yield Fact("Winner", winner, whole=True)
    yield Fact("Submission", fields.maybe("submission_commitment") or "", whole=True)
    yield _last_step("winner", bounty_id, paid=about.paid)


def _last_step(who: str, bounty_id: str, *, paid: bool) -> Item:
    if paid:
        return Fact("Paid", f"the {who} has claimed; service-cli status shows what waits for you")
    return Fact("Next", f"the {who} runs service-cli claim {bounty_id}")


def _record(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    record = fields.inner("record")
    if record is None:
        raise TypeError("no record")
    yield from record_items(record, about, screen)
    yield Heading("Evidence")
    settlement = record.inner("settlement")
    if settlement is not None:
        yield Fact("Settled", f"in block {settlement.whole('block_number')}")
        yield Fact("Transaction", settlement.text("tx_hash"), whole=True)
    yield Fact("Log digest", record.text("log_digest"), whole=True)
    yield "The record is evidence only; the chain decides."
    yield following(f"bounty:show {record.text('bounty_id')}")


def record_items(record: Fields, about: About, screen: Screen) -> Iterator[Item]:
    """The outcome, the Verdicts and the amounts of a VerificationRecord."""
    winner = record.inner("winner")
    outcome = "no winner" if winner is None else screen.good("awarded")
    yield Heading(f"Outcome of bounty {record.text('bounty_id')}")
    yield Fact("Outcome", f"{outcome}: {why(record.maybe('settlement_reason'))}")
    if winner is not None:
        yield Fact("Winner", winner.text("solver_address"), whole=True)
        yield Fact("Submission", winner.text("submission_commitment"), whole=True)
    yield Heading("Verdicts")
    for verdict in record.rows("verdicts"):
        yield Fact(short(verdict.text("guardian_address")), _verdict(verdict))
    yield Heading("Amounts")
    names = {"winner_award": "award", "poster_refund": "refund", "guardian_fee": "share", "protocol_fee": "fee"}
    for due in record.rows("amounts"):
        kind, amount = due.text("kind"), tokens(due.whole("amount"), about.token)
        yield Fact(names.get(kind, kind).capitalize(), f"{amount} to {due.text('recipient')}")


def _verdict(verdict: Fields) -> str:
    kind = verdict.maybe("kind")
    if kind is None:
        return "none recorded"
    supported = "" if verdict.values.get("supported_result") else ", not the outcome"
    if kind != "awarded":
        return f"no valid Submission{supported}"
    return f"award {short(verdict.text('solver_address'))}{supported}"


def _no_record(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    if fields.text("code") == "bounty_open":
        yield "There is no VerificationRecord yet: it is derived from the outcome, and the bounty is still open."
    else:
        yield "There is no VerificationRecord at the moment: it cannot be derived yet; try again later."


TEXTS = {
    "bounty_list.bounty": _listed,
    "bounty_watch.event": _event,
    "bounty_watch.event_removed": _event_removed,
    "bounty_watch.next": _next,
    "bounty_watch.final": _final,
    "verification_record.fetched": _record,
    "verification_record.unavailable": _no_record,
}
