"""The worker's state of each webhook: read as a whole, written back as results of attempts.

Every write names the cursor that the webhook had when the attempt began, and changes nothing where another
worker moved it meanwhile. Losing a write costs a message that is sent twice, with the same id.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from bounty_protocol.types import Address, BlockNumber, ChainId
from bounty_protocol.wire.values import ChangeNumber, Finality, WebhookId, WebhookState
from service_common.db import hub_index
from service_common.db.app import work_notices
from service_common.db.engine import reading, single, writing
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Engine,
    RowMapping,
    bindparam,
    case,
    func,
    literal,
    null,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from service_api.webhooks import tables as t
from service_api.webhooks.secrets import valid_former
from service_api.webhooks.sending import AttemptEnd, AttemptResult
from service_api.webhooks.subjects import END_OF_BLOCK, FactsPosition, Subject, parse_subject

BACKOFF: Final = (5, 15, 60, 300, 900, 3_600)
"""Seconds from a failed attempt to the next, by how many failed in a row; the last one stays."""
UNSENDABLE_AGAIN: Final = timedelta(minutes=1)
"""After which a message is tried again that could not be signed, or not sent to its port; never given up."""
OFF_AFTER: Final = timedelta(days=3)
"""For how long every attempt has to have failed until a webhook is switched off."""
ANEW_AFTER: Final = timedelta(days=1)
"""After so long without an attempt those days begin anew: as when a test failed, and there was nothing to send."""
CHALLENGES: Final = 5
"""Attempts to have a challenge answered."""
SLOW_SECONDS: Final = 1.0
SLOW_FOR: Final = timedelta(hours=1)
"""How long a receiver that took longer than ``SLOW_SECONDS`` is served among the slow ones."""


_UNTESTED: Final = t.subscriptions.c.test_requested_at.is_not(
    None
) & t.subscriptions.c.test_requested_at.is_distinct_from(t.deliveries.c.tested_at)


@dataclass(frozen=True, slots=True)
class DueWebhook:
    """A webhook that something may be sent to."""

    webhook_id: WebhookId
    subscriber: Address
    url: str
    subject: Subject
    finality: Finality
    sealed_secrets: tuple[str, ...] = field(repr=False)
    """The present one, and the former ones that are still valid."""
    state: WebhookState
    cursor: FactsPosition
    until: ChangeNumber | None
    missed: BlockNumber | None
    """The last block whose valid facts it surely received, where the index lost count and it was not told yet."""
    failure_count: int
    failing_since: datetime | None
    last_attempt_at: datetime | None
    last_success_at: datetime | None
    slow_until: datetime | None
    """None where it is not among the slow ones at this moment."""
    after_notice: int
    """Up to which number notices about sealed work were sent where they concern it."""
    test_requested_at: datetime | None
    """None where the newest test that was asked for was made."""
    tested_at: datetime | None

    @property
    def site(self) -> str:
        """Under whose control its address is, as far as the last two labels of the name show."""
        host = self.url.partition("://")[2].partition("/")[0].partition("?")[0].partition(":")[0]
        return ".".join(host.lower().split(".")[-2:])

    @property
    def proven(self) -> bool:
        """Whether it answered soon the last time that something was sent to it."""
        return self.state is WebhookState.ACTIVE and not self.failure_count and self.slow_until is None


@dataclass(frozen=True, slots=True)
class SentFacts:
    """The progress of a webhook: facts, and where it is after them; without a ``cursor`` none. Or that it ``missed``
    some."""

    due: DueWebhook
    message_id: str
    cursor: FactsPosition | None = None
    missed: bool = False
    after_notice: int | None = None
    """Up to which number notices were sent with it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt and its result."""

    attempt: SentFacts
    outcome: AttemptResult


def has_due(engine: Engine, now: datetime, newest: ChangeNumber, newest_notice: int) -> bool:
    """Whether a webhook was registered since, is to be challenged or tested now, or may have something to hear."""
    s, d = t.subscriptions.c, t.deliveries.c
    is_admitted = select(d.webhook_id).where(d.webhook_id == s.webhook_id).exists()
    is_new = select(s.webhook_id).where(~is_admitted).exists()
    due = _asked(now) | _hearing(now, newest, newest_notice)
    is_due = select(d.webhook_id).join(t.subscriptions, s.webhook_id == d.webhook_id).where(due).exists()
    with single(engine) as connection:
        return bool(connection.execute(select(is_new | is_due)).scalar())


def admit_new(engine: Engine, now: datetime) -> int:
    """Make the rows of webhooks that were registered since; how many."""
    s, n = t.subscriptions.c, work_notices.c
    new = (
        select(
            s.webhook_id,
            literal(WebhookState.PENDING.value),
            s.after_number,
            s.after_block,
            literal(END_OF_BLOCK),
            literal(now),
            select(func.coalesce(func.max(n.number), 0)).where(n.created_at < s.created_at).scalar_subquery(),
        )
        .outerjoin(t.deliveries, t.deliveries.c.webhook_id == s.webhook_id)
        .where(t.deliveries.c.webhook_id.is_(None))
    )
    names = ["webhook_id", "state", "after_number", "sent_block", "sent_log", "next_attempt_at", "after_notice"]
    with writing(engine) as connection:
        statement = upsert(t.deliveries).from_select(names, new).on_conflict_do_nothing()
        return len(connection.execute(statement.returning(t.deliveries.c.webhook_id)).all())  # it counts no insertions


def list_asked(engine: Engine, now: datetime) -> list[DueWebhook]:
    """Webhooks to be challenged or tested now: the longest due first."""
    return _list(engine, now, _asked(now))


def list_hearing(
    engine: Engine, now: datetime, newest: ChangeNumber, newest_notice: int, *, proven: bool
) -> list[DueWebhook]:
    """Webhooks that may have something to hear, and do not wait after a failure: the longest due first.

    ``proven`` ones, as ``DueWebhook`` has it, or the others."""
    d = t.deliveries.c
    is_proven = (d.failure_count == 0) & (d.slow_until.is_(None) | (d.slow_until <= now))
    hearing = _hearing(now, newest, newest_notice)
    return _list(engine, now, hearing & ~_UNTESTED & (is_proven if proven else ~is_proven))


def _asked(now: datetime) -> ColumnElement[bool]:
    d = t.deliveries.c
    is_time = _is_time(now)
    unsendable = d.last_result.is_not_distinct_from(AttemptEnd.UNSENDABLE.value)
    return (_UNTESTED & (~unsendable | is_time)) | ((d.state == WebhookState.PENDING.value) & is_time)


def _hearing(now: datetime, newest: ChangeNumber, newest_notice: int) -> ColumnElement[bool]:
    d = t.deliveries.c
    is_noticed = func.coalesce(d.after_notice, 0) < newest_notice
    is_news = (d.after_number < newest) | d.missed_block.is_not(None) | is_noticed
    return (d.state == WebhookState.ACTIVE.value) & _is_time(now) & is_news


def _is_time(now: datetime) -> ColumnElement[bool]:
    """Whether a webhook's next attempt is due; one further off than any pause was written by a clock that was wrong."""
    next_attempt_at = t.deliveries.c.next_attempt_at
    return (next_attempt_at <= now) | (next_attempt_at > now + timedelta(seconds=max(BACKOFF)))


def _list(engine: Engine, now: datetime, wanted: ColumnElement[bool]) -> list[DueWebhook]:
    s, d = t.subscriptions.c, t.deliveries.c
    query = (
        select(t.deliveries, s.subscriber, s.url, s.subject, s.finality, s.sealed_secret)
        .add_columns(s.former_sealed_secret, s.former_until, s.older_sealed_secrets, s.older_until)
        .add_columns(case((_UNTESTED, s.test_requested_at)).label("asked_at"))
        .join(t.subscriptions, s.webhook_id == d.webhook_id)
        .where(wanted)
        .order_by(d.next_attempt_at, d.webhook_id)
    )
    with reading(engine) as connection:
        return [_due(row, now) for row in connection.execute(query).mappings()]


def _due(row: RowMapping, now: datetime) -> DueWebhook:
    return DueWebhook(
        webhook_id=WebhookId(row["webhook_id"]),
        subscriber=Address(row["subscriber"]),
        url=row["url"],
        subject=parse_subject(row["subject"]),
        finality=Finality(row["finality"]),
        sealed_secrets=(row["sealed_secret"], *(each.sealed for each in valid_former(row, now))),
        state=WebhookState(row["state"]),
        cursor=FactsPosition(ChangeNumber(row["after_number"]), (row["sent_block"], row["sent_log"])),
        until=None if row["until_number"] is None else ChangeNumber(row["until_number"]),
        missed=None if row["missed_block"] is None else BlockNumber(row["missed_block"]),
        failure_count=row["failure_count"],
        failing_since=row["failing_since"],
        last_attempt_at=row["last_attempt_at"],
        last_success_at=row["last_success_at"],
        slow_until=row["slow_until"] if row["slow_until"] is not None and row["slow_until"] > now else None,
        after_notice=row["after_notice"] or 0,
        test_requested_at=row["asked_at"],
        tested_at=row["tested_at"],
    )


def pass_over(engine: Engine, due: Sequence[DueWebhook], cursor: FactsPosition, after_notice: int) -> None:
    """Note that these webhooks, which were equally far, hear of nothing up to a cursor and up to a notice."""
    d = t.deliveries.c
    ids = [each.webhook_id for each in due]
    moved = update(t.deliveries).where(d.webhook_id.in_(ids), d.after_number == due[0].cursor.change)
    with writing(engine) as connection:
        further = func.greatest(d.after_notice, after_notice)  # one of them may have been sent a notice meanwhile
        connection.execute(moved.values(**_columns(cursor), until_number=None, after_notice=further))


def recount(engine: Engine) -> int:
    """Let webhooks at a change that this index never issued, as after a restore, go on from their place in the chain;
    of unsafe facts from their registration, for retractions may be lost. How many; they are told of it.

    Events have numbers in the order of the chain: the last one up to a webhook's change is at its place or before it.
    Where it is not, the index counted anew and came past that change. The newest change is of the same moment as the
    webhooks: one that the worker saw before may be older than a webhook that was registered since.
    """
    d, s, c = t.deliveries.c, t.subscriptions.c, hub_index.changes.c
    is_event, place = c.log_index.is_not(None), tuple_(c.block_number, c.log_index)
    looked_at = select(func.max(c.number)).where(is_event, c.number <= d.after_number).correlate(t.deliveries)
    is_later = c.number.in_(looked_at) & (place > tuple_(d.sent_block, d.sent_log))
    newest = select(func.coalesce(func.max(c.number), 0)).scalar_subquery()
    never_issued = (d.after_number > newest) | select(c.number).where(is_later).correlate(t.deliveries).exists()
    lost = select(t.deliveries, s.finality, s.after_block).join(t.subscriptions).where(never_issued)
    with writing(engine) as connection:
        found = connection.execute(lost).all()
        for row in found:
            is_unsafe = row.finality == Finality.UNSAFE
            kept = (row.after_block, END_OF_BLOCK) if is_unsafe else (row.sent_block, row.sent_log)
            last = connection.execute(select(func.max(c.number)).where(is_event, place <= kept)).scalar()
            moved = update(t.deliveries).where(d.webhook_id == row.webhook_id)
            cursor = _columns(FactsPosition(ChangeNumber(last or 0), kept))
            connection.execute(moved.values(**cursor, until_number=None, missed_block=kept[0]))
    return len(found)


def write_ended(engine: Engine, ended: Sequence[Ended], now: datetime) -> list[WebhookId]:
    """Write the results of attempts; the webhooks that this switched off."""
    d = t.deliveries.c
    rows = [_row(each, now) for each in ended]
    unmoved = (d.webhook_id == bindparam("of_webhook")) & (d.after_number == bindparam("was_after"))
    names = rows[0].keys() & {column.name for column in t.deliveries.c}
    missed = case((bindparam("told_of_missed", type_=Boolean), null()), else_=d.missed_block)
    noticed = func.greatest(d.after_notice, bindparam("after_notice"))
    values: dict[str, object] = {name: bindparam(name) for name in names}
    values |= {"missed_block": missed, "after_notice": noticed}
    statement = update(t.deliveries).where(unmoved).values(values)
    with writing(engine) as connection:
        connection.execute(statement, rows)
    was = {each.attempt.due.webhook_id: each.attempt.due.state for each in ended}
    off = [webhook_id for webhook_id, row in zip(was, rows, strict=True) if row["state"] == WebhookState.OFF]
    return [webhook_id for webhook_id in off if was[webhook_id] is not WebhookState.OFF]


def _row(ended: Ended, now: datetime) -> dict[str, object]:
    """A webhook's row after an attempt."""
    attempt, outcome, due = ended.attempt, ended.outcome, ended.attempt.due
    delivered = outcome.result is AttemptEnd.DELIVERED
    is_ours = outcome.result is AttemptEnd.UNSENDABLE  # the operator's mistake: no failure of the receiver
    failures = 0 if delivered else max(1, due.failure_count) if is_ours else due.failure_count + 1
    paused = due.last_attempt_at is not None and now - due.last_attempt_at > ANEW_AFTER
    since = None if delivered or is_ours else now if paused else due.failing_since or now
    pause = timedelta(0) if delivered else UNSENDABLE_AGAIN if is_ours else _backoff(failures)
    reached = attempt.cursor if delivered else None
    tried = None if attempt.cursor is None else attempt.cursor.change
    slow = outcome.seconds > SLOW_SECONDS
    return {
        "of_webhook": due.webhook_id,
        "was_after": due.cursor.change,
        "told_of_missed": attempt.missed and delivered,
        "state": (WebhookState.ACTIVE if delivered else _after_failure(due, failures, since, outcome, now)).value,
        **_columns(reached or due.cursor),
        "until_number": None if reached else tried or due.until,
        "failure_count": failures,
        "failing_since": since,
        "next_attempt_at": now + pause,
        "last_attempt_at": now,
        "last_success_at": now if delivered else due.last_success_at,
        "last_result": outcome.result.value,
        "last_status": outcome.status,
        "slow_until": now + SLOW_FOR if slow else due.slow_until,
        "tested_at": due.tested_at if is_ours else due.test_requested_at or due.tested_at,
        "after_notice": due.after_notice if attempt.after_notice is None or not delivered else attempt.after_notice,
    }


def _backoff(failures: int) -> timedelta:
    return timedelta(seconds=BACKOFF[min(failures, len(BACKOFF)) - 1])


def _columns(cursor: FactsPosition) -> dict[str, int]:
    block, log = cursor.place
    return {"after_number": cursor.change, "sent_block": block, "sent_log": log}


def _after_failure(
    due: DueWebhook, failures: int, since: datetime | None, outcome: AttemptResult, now: datetime
) -> WebhookState:
    if outcome.result is AttemptEnd.UNSENDABLE:
        return due.state
    if due.state is not WebhookState.ACTIVE:
        return WebhookState.OFF if failures >= CHALLENGES else WebhookState.PENDING
    worn_out = since is not None and now - since >= OFF_AFTER
    return WebhookState.OFF if worn_out or outcome.result is AttemptEnd.GONE else WebhookState.ACTIVE


def write_progress(engine: Engine, chain_id: ChainId, now: datetime) -> None:
    """Note that nothing is left to send to receivers that answer."""
    written = upsert(t.progress).values(chain_id=chain_id, caught_up_at=now)
    with writing(engine) as connection:
        connection.execute(written.on_conflict_do_update(index_elements=["chain_id"], set_={"caught_up_at": now}))
