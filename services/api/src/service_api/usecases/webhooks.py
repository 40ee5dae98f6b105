"""Registering, showing and removing webhooks: each account its own.

A webhook belongs to the account that signed for it; nothing of the Hub grants or denies it. For any other account it
does not exist. Registering the same again returns the webhook that is there, without a secret, so that a repeated
request makes nothing new.
"""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from bounty_protocol.auth.verify import VerifiedRequest
from bounty_protocol.clock import iso_utc
from bounty_protocol.errors import Issue, ServiceError
from bounty_protocol.types import Address, Bytes32
from bounty_protocol.wire.bounties import BountyFilter
from bounty_protocol.wire.values import Finality, Timestamp, WebhookId, WebhookState
from bounty_protocol.wire.webhooks import RegisteredWebhook, Webhook, WebhookRequest
from service_common.db import app
from service_common.db.engine import reading, writing
from service_common.db.notifications import Channel, notify
from sqlalchemy import Connection, RowMapping, Select, delete, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from service_api.changes import newest_change
from service_api.dependencies import Dependencies
from service_api.webhooks import tables as t
from service_api.webhooks.receivers import parse_receiver
from service_api.webhooks.secrets import make_secret, seal, secret_text, valid_former
from service_api.webhooks.subjects import Subject, parse_subject

CODE: Final = "invalid_webhook"
FORMER_HOURS: Final = 24
"""For how long messages carry the signature of a former secret, too."""
FORMER_SECRETS: Final = 5
"""Former secrets of a webhook that sign at a time."""
_LOCK: Final = 0x57_48_52
_NOT_FOUND: Final = "This account has no webhook with that id."


def register_webhook(
    deps: Dependencies, request: VerifiedRequest, wanted: WebhookRequest
) -> tuple[RegisteredWebhook, bool]:
    """Keep a webhook; whether it is new. A new one is pending until its receiver has answered the challenge.

    A signed request makes one only once: who repeats it after a removal would otherwise get the secret of another. It
    is noted also where the webhook is there.
    """
    key, subscriber = _key(deps), request.signer
    subject = _subject(wanted)
    try:
        parse_receiver(wanted.url, deps.config.webhooks.rules)
    except ValueError as error:
        raise _invalid("url", f"must be {error}") from None
    secret, webhook_id = make_secret(), WebhookId(f"wh_{secrets.token_hex(16)}")
    named = {
        "subscriber": subscriber,
        "url": wanted.url,
        "subject": subject.to_text(),
        "finality": wanted.finality.value,
    }
    begin = _beginning(deps, wanted.finality)
    with writing(deps.engine) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        is_first = _is_first(connection, request)
        same = [t.subscriptions.c[name] == value for name, value in named.items()]
        known = connection.execute(_shown().where(*same)).mappings().first()
        if known is not None:
            return RegisteredWebhook(_webhook(known), None), False
        if not is_first:
            message = "This exact signed request was already processed, and its webhook was removed since."
            raise ServiceError("webhook_already_registered", message)
        _require_free(deps, connection, subscriber)
        sealed = seal(secret, key, webhook_id)
        values = {"webhook_id": webhook_id, **named, **begin, "sealed_secret": sealed}
        connection.execute(insert(t.subscriptions).values(values))
        notify(connection, Channel.TO_SEND)
        made = _webhook(_read(connection, subscriber, webhook_id))
    return RegisteredWebhook(made, secret_text(secret)), True


def list_webhooks(deps: Dependencies, subscriber: Address) -> tuple[Webhook, ...]:
    """Those of an account, oldest first."""
    s = t.subscriptions.c
    with reading(deps.engine) as connection:
        rows = connection.execute(
            _shown().where(s.subscriber == subscriber).order_by(s.created_at, s.webhook_id)
        ).mappings()
        return tuple(_webhook(row) for row in rows)


def remove_webhook(deps: Dependencies, subscriber: Address, webhook_id: WebhookId) -> None:
    """Forget a webhook; a message that is on its way at this moment may still arrive."""
    s = t.subscriptions.c
    with writing(deps.engine) as connection:
        removed = connection.execute(
            delete(t.subscriptions).where(s.webhook_id == webhook_id, s.subscriber == subscriber)
        )
    if not removed.rowcount:
        raise ServiceError("webhook_not_found", _NOT_FOUND)


def request_test(deps: Dependencies, subscriber: Address, webhook_id: WebhookId) -> Webhook:
    """Have a test message sent, or to one that is not active the challenge."""
    with writing(deps.engine) as connection:
        return _changed(connection, subscriber, webhook_id, {"test_requested_at": func.now()})


def rotate_secret(deps: Dependencies, request: VerifiedRequest, webhook_id: WebhookId) -> RegisteredWebhook:
    """Make another secret. The one that it replaces signs beside it for ``FORMER_HOURS``, also when that is rotated
    meanwhile: a receiver may have it, where the answers of later rotations were lost.

    A signed request makes one only once: who repeats it would otherwise get the secret that is valid from then on. It
    counts as processed with what it changed, or not at all.
    """
    key, secret = _key(deps), make_secret()
    s = t.subscriptions.c
    own = (s.webhook_id == webhook_id) & (s.subscriber == request.signer)
    locked = select(t.subscriptions, func.now().label("now")).where(own).with_for_update()
    with writing(deps.engine) as connection:
        if (row := connection.execute(locked).mappings().first()) is None:
            raise ServiceError("webhook_not_found", _NOT_FOUND)
        if not _is_first(connection, request):
            raise ServiceError("webhook_already_rotated", "This exact signed request was already processed.")
        former = valid_former(row, row["now"])
        if len(former) >= FORMER_SECRETS:
            raise _rotated_often(former[-1].until)
        values = {
            "sealed_secret": seal(secret, key, webhook_id),
            "former_sealed_secret": row["sealed_secret"],
            "former_until": row["now"] + timedelta(hours=FORMER_HOURS),
            "older_sealed_secrets": [each.sealed for each in former],
            "older_until": [each.until for each in former],
        }
        return RegisteredWebhook(_changed(connection, request.signer, webhook_id, values), secret_text(secret))


def _rotated_often(frees_at: datetime) -> ServiceError:
    message = f"This webhook has {FORMER_SECRETS} former secrets that still sign, which is the most."
    again = iso_utc(int(frees_at.timestamp()) + 1)
    next_action = f"Sign a new request after {again}; or remove the webhook, and register it again."
    return ServiceError("webhook_secrets_limit_reached", message, next_action=next_action)


def _changed(connection: Connection, subscriber: Address, webhook_id: WebhookId, values: Mapping[str, Any]) -> Webhook:
    s = t.subscriptions.c
    connection.execute(
        update(t.subscriptions).where(s.webhook_id == webhook_id, s.subscriber == subscriber).values(values)
    )
    notify(connection, Channel.TO_SEND)
    return _webhook(_read(connection, subscriber, webhook_id))


def _key(deps: Dependencies) -> Bytes32:
    if (key := deps.config.webhooks.key) is None:
        raise ServiceError("webhooks_unconfigured", "This deployment sends no webhooks.", retry_after=3_600)
    return key


def _subject(wanted: WebhookRequest) -> Subject:
    filtered = wanted.bounties_matching
    named = (wanted.account_address, wanted.bounty_id, filtered, wanted.all_bounties or None)
    if sum(each is not None for each in named) != 1:
        names = "account_address, bounty_id, bounties_matching and all_bounties"
        raise _invalid("account_address", f"exactly one of {names} must be given")
    if filtered == BountyFilter():
        raise _invalid("bounties_matching", "must have at least one filter; for every fact there is all_bounties")
    return Subject(wanted.account_address, wanted.bounty_id, filtered)


def _invalid(path: str, message: str) -> ServiceError:
    return ServiceError(CODE, "The webhook is malformed.", issues=[Issue(path, message)])


def _beginning(deps: Dependencies, finality: Finality) -> dict[str, int]:
    """From where on it hears: what is indexed, or final, at this moment is behind it."""
    with deps.facts.open() as facts:
        head = facts.head
        if finality is Finality.FINALIZED:
            newest = newest_change(facts.connection, head.finalized_number)
            return {"after_number": newest, "after_block": head.finalized_number}
        return {"after_number": newest_change(facts.connection), "after_block": head.block_number}


def _require_free(deps: Dependencies, connection: Connection, subscriber: Address) -> None:
    settings = deps.config.webhooks
    counted = select(func.count()).select_from(t.subscriptions)
    if connection.execute(counted.where(t.subscriptions.c.subscriber == subscriber)).scalar_one() >= settings.limit:
        raise ServiceError("webhook_limit_reached", f"An account has at most {settings.limit} webhooks.")
    if connection.execute(counted).scalar_one() >= settings.total:
        message = "This deployment has as many webhooks as it takes."
        raise ServiceError(
            "webhook_limit_reached", message, next_action="Follow GET /api/changes, or ask the operator."
        )


def _is_first(connection: Connection, request: VerifiedRequest) -> bool:
    """Note an approval as processed; whether it was not before. A row, so that it survives a lost Redis.

    Of its signer: another account that signs the same request over the same block has the same digest.
    """
    values = {
        "approval_digest": f"{request.approval_digest}/{request.signer}",
        "signer": request.signer,
        "block_number": request.block_number,
    }
    first = upsert(app.processed_approvals).values(values).on_conflict_do_nothing()
    return connection.execute(first.returning(app.processed_approvals.c.signer)).first() is not None


def _shown() -> Select[Any]:
    s, d = t.subscriptions.c, t.deliveries.c
    shown = (d.state, d.failure_count, d.failing_since, d.next_attempt_at, d.last_attempt_at, d.last_success_at)
    return select(
        *(s.webhook_id, s.url, s.subject, s.finality, s.created_at, *shown, d.last_result, d.last_status)
    ).outerjoin(t.deliveries, d.webhook_id == s.webhook_id)


def _read(connection: Connection, subscriber: Address, webhook_id: WebhookId) -> RowMapping:
    s = t.subscriptions.c
    row = connection.execute(_shown().where(s.webhook_id == webhook_id, s.subscriber == subscriber)).mappings().first()
    if row is None:
        raise ServiceError("webhook_not_found", _NOT_FOUND)
    return row


def _webhook(row: RowMapping) -> Webhook:
    subject = parse_subject(row["subject"])
    state = WebhookState(row["state"] or WebhookState.PENDING)
    waits = row["failure_count"] and state is not WebhookState.OFF
    created = _time(row["created_at"])
    assert created is not None  # noqa: S101  # the column is not null
    return Webhook(
        webhook_id=WebhookId(row["webhook_id"]),
        url=row["url"],
        account_address=subject.account,
        bounty_id=subject.bounty_id,
        all_bounties=subject == Subject(),
        bounties_matching=subject.matching,
        finality=Finality(row["finality"]),
        state=state,
        created_at=created,
        last_attempt_at=_time(row["last_attempt_at"]),
        last_success_at=_time(row["last_success_at"]),
        last_result=row["last_result"],
        last_status=row["last_status"],
        failure_count=row["failure_count"] or 0,
        failing_since=_time(row["failing_since"]),
        next_attempt_at=_time(row["next_attempt_at"]) if waits else None,
    )


def _time(moment: datetime | None) -> Timestamp | None:
    return None if moment is None else Timestamp(iso_utc(int(moment.timestamp())))
