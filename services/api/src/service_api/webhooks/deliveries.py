"""What the worker knows of each webhook: read as a whole, written back as what came of attempts.

Every write names the change up to which the webhook had heard when the attempt began, and changes nothing where another
worker moved it meanwhile. Losing a write costs a message that is sent twice, with the same id.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from service_common.db import webhooks as t
from service_common.db.engine import reading, writing
from service_common.types import Address, ChainId
from service_common.wire.values import ChangeNumber, Finality, WebhookId, WebhookState
from sqlalchemy import ColumnElement, Engine, RowMapping, bindparam, case, literal, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from service_api.webhooks.sending import Outcome, Result
from service_api.webhooks.subjects import END_OF_BLOCK, Place, Subject, parse_subject

BACKOFF: Final = (5, 15, 60, 300, 900, 3_600)
"""Seconds from a failed attempt to the next, by how many failed in a row; the last one stays."""
OFF_AFTER: Final = timedelta(days=3)
"""For how long every attempt has to have failed until a webhook is switched off."""
CHALLENGES: Final = 5
"""Attempts to have a challenge answered."""
SLOW_SECONDS: Final = 1.0
SLOW_FOR: Final = timedelta(hours=1)
"""How long a receiver that took longer than ``SLOW_SECONDS`` is served among the slow ones."""


_UNTESTED: Final = t.subscriptions.c.test_requested_at.is_not(
    None
) & t.subscriptions.c.test_requested_at.is_distinct_from(t.deliveries.c.tested_at)


@dataclass(frozen=True, slots=True)
class Due:
    """A webhook that something may be sent to."""

    webhook_id: WebhookId
    subscriber: Address
    url: str
    subject: Subject
    finality: Finality
    sealed_secrets: tuple[str, ...] = field(repr=False)
    state: WebhookState
    after: ChangeNumber
    sent: Place
    until: ChangeNumber | None
    failure_count: int
    failing_since: datetime | None
    last_success_at: datetime | None
    slow_until: datetime | None
    """None where it is not among the slow ones at this moment."""
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
class Attempt:
    """What was sent to a webhook: facts up to a change and a place, or where ``through`` is None none."""

    due: Due
    message_id: str
    through: ChangeNumber | None
    sent: Place


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt and what came of it."""

    attempt: Attempt
    outcome: Outcome


def admit_new(engine: Engine, now: datetime) -> int:
    """Make the rows of webhooks that were registered since; how many."""
    s = t.subscriptions.c
    new = (
        select(
            s.webhook_id,
            literal(WebhookState.PENDING.value),
            s.after_number,
            s.after_block,
            literal(END_OF_BLOCK),
            literal(now),
        )
        .outerjoin(t.deliveries, t.deliveries.c.webhook_id == s.webhook_id)
        .where(t.deliveries.c.webhook_id.is_(None))
    )
    names = ["webhook_id", "state", "after_number", "sent_block", "sent_log", "next_attempt_at"]
    with writing(engine) as connection:
        statement = upsert(t.deliveries).from_select(names, new).on_conflict_do_nothing()
        return len(connection.execute(statement.returning(t.deliveries.c.webhook_id)).all())  # it counts no insertions


def list_asked(engine: Engine, now: datetime) -> list[Due]:
    """Webhooks to be challenged or tested now: the longest due first."""
    d = t.deliveries.c
    return _list(engine, now, _UNTESTED | ((d.state == WebhookState.PENDING.value) & (d.next_attempt_at <= now)))


def list_hearing(engine: Engine, now: datetime, newest: ChangeNumber, *, proven: bool) -> list[Due]:
    """Webhooks that may have something to hear, and do not wait after a failure: the longest due first.

    ``proven`` ones, as ``Due`` has it, or the others."""
    d = t.deliveries.c
    active = (d.state == WebhookState.ACTIVE.value) & (d.next_attempt_at <= now) & (d.after_number < newest)
    is_proven = (d.failure_count == 0) & (d.slow_until.is_(None) | (d.slow_until <= now))
    return _list(engine, now, active & ~_UNTESTED & (is_proven if proven else ~is_proven))


def _list(engine: Engine, now: datetime, wanted: ColumnElement[bool]) -> list[Due]:
    s, d = t.subscriptions.c, t.deliveries.c
    query = (
        select(t.deliveries, s.subscriber, s.url, s.subject, s.finality, s.sealed_secret)
        .add_columns(s.former_sealed_secret, s.former_until, case((_UNTESTED, s.test_requested_at)).label("asked_at"))
        .join(t.subscriptions, s.webhook_id == d.webhook_id)
        .where(wanted)
        .order_by(d.next_attempt_at, d.webhook_id)
    )
    with reading(engine) as connection:
        return [_due(row, now) for row in connection.execute(query).mappings()]


def _due(row: RowMapping, now: datetime) -> Due:
    former = row["former_sealed_secret"] if row["former_until"] is not None and row["former_until"] > now else None
    return Due(
        webhook_id=WebhookId(row["webhook_id"]),
        subscriber=Address(row["subscriber"]),
        url=row["url"],
        subject=parse_subject(row["subject"]),
        finality=Finality(row["finality"]),
        sealed_secrets=tuple(each for each in (row["sealed_secret"], former) if each is not None),
        state=WebhookState(row["state"]),
        after=ChangeNumber(row["after_number"]),
        sent=(row["sent_block"], row["sent_log"]),
        until=None if row["until_number"] is None else ChangeNumber(row["until_number"]),
        failure_count=row["failure_count"],
        failing_since=row["failing_since"],
        last_success_at=row["last_success_at"],
        slow_until=row["slow_until"] if row["slow_until"] is not None and row["slow_until"] > now else None,
        test_requested_at=row["asked_at"],
        tested_at=row["tested_at"],
    )


def pass_over(engine: Engine, due: Sequence[Due], through: ChangeNumber) -> None:
    """Note that these webhooks, which were equally far, hear of nothing up to a change."""
    d = t.deliveries.c
    ids = [each.webhook_id for each in due]
    moved = update(t.deliveries).where(d.webhook_id.in_(ids), d.after_number == due[0].after)
    with writing(engine) as connection:
        connection.execute(moved.values(after_number=through, until_number=None))


def start_anew(engine: Engine, beyond: ChangeNumber) -> None:
    """Changes count anew after a restore: who is beyond the newest looks through all again, and is sent none twice."""
    d = t.deliveries.c
    with writing(engine) as connection:
        connection.execute(
            update(t.deliveries).where(d.after_number > beyond).values(after_number=0, until_number=None)
        )


def write_ended(engine: Engine, ended: Sequence[Ended], now: datetime) -> list[WebhookId]:
    """Write what came of attempts; the webhooks that this switched off."""
    d = t.deliveries.c
    rows = [_row(each, now) for each in ended]
    unmoved = (d.webhook_id == bindparam("of_webhook")) & (d.after_number == bindparam("was_after"))
    names = rows[0].keys() & {column.name for column in t.deliveries.c}
    statement = update(t.deliveries).where(unmoved).values({name: bindparam(name) for name in names})
    with writing(engine) as connection:
        connection.execute(statement, rows)
    was = {each.attempt.due.webhook_id: each.attempt.due.state for each in ended}
    off = [webhook_id for webhook_id, row in zip(was, rows, strict=True) if row["state"] == WebhookState.OFF]
    return [webhook_id for webhook_id in off if was[webhook_id] is not WebhookState.OFF]


def _row(ended: Ended, now: datetime) -> dict[str, object]:
    """A webhook's row after an attempt."""
    attempt, outcome, due = ended.attempt, ended.outcome, ended.attempt.due
    delivered = outcome.result is Result.DELIVERED
    failures = 0 if delivered else due.failure_count + 1
    since = None if delivered else due.failing_since or now
    heard = attempt.through is not None and delivered
    slow = outcome.seconds > SLOW_SECONDS
    return {
        "of_webhook": due.webhook_id,
        "was_after": due.after,
        "state": (WebhookState.ACTIVE if delivered else _after_failure(due, failures, since, outcome, now)).value,
        "after_number": attempt.through if heard else due.after,
        "sent_block": attempt.sent[0] if heard else due.sent[0],
        "sent_log": attempt.sent[1] if heard else due.sent[1],
        "until_number": None if heard else attempt.through or due.until,
        "failure_count": failures,
        "failing_since": since,
        "next_attempt_at": now + timedelta(seconds=0 if delivered else BACKOFF[min(failures, len(BACKOFF)) - 1]),
        "last_attempt_at": now,
        "last_success_at": now if delivered else due.last_success_at,
        "last_result": outcome.result.value,
        "last_status": outcome.status,
        "slow_until": now + SLOW_FOR if slow else due.slow_until,
        "tested_at": due.test_requested_at or due.tested_at,
    }


def _after_failure(due: Due, failures: int, since: datetime | None, outcome: Outcome, now: datetime) -> WebhookState:
    if due.state is not WebhookState.ACTIVE:
        return WebhookState.OFF if failures >= CHALLENGES else WebhookState.PENDING
    worn_out = since is not None and now - since >= OFF_AFTER
    return WebhookState.OFF if worn_out or outcome.result is Result.GONE else WebhookState.ACTIVE


def write_progress(engine: Engine, chain_id: ChainId, now: datetime) -> None:
    """Note that nothing is left to send to receivers that answer."""
    written = upsert(t.progress).values(chain_id=chain_id, caught_up_at=now)
    with writing(engine) as connection:
        connection.execute(written.on_conflict_do_update(index_elements=["chain_id"], set_={"caught_up_at": now}))
