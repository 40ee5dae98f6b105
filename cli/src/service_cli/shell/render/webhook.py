"""The events about webhooks as text. A secret is in its file and in no event."""

from collections.abc import Iterator
from datetime import datetime

from service_cli.shell.render.fields import Fields, at, counted, following
from service_cli.shell.render.screen import Fact, Heading, Item, Screen
from service_cli.shell.text import About

_STATES = {
    "pending": "pending: the address has not answered its challenge yet",
    "active": "active",
    "off": "off: the address failed for days; remove it and add it again",
}


def _subscription(fields: Fields) -> Iterator[Item]:
    """What a webhook is about."""
    account, bounty_id = fields.maybe("account_address"), fields.maybe("bounty_id")
    about = f"account {account}" if account else f"bounty {bounty_id}" if bounty_id else "all bounties"
    finality = (
        "final facts only" if fields.text("finality") == "finalized" else "facts at once, and what reorgs take back"
    )
    yield Fact("About", f"{about}; {finality}")
    yield Fact("State", _STATES[fields.text("state")])


def _registered(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    webhook_id, secret_file = fields.text("webhook_id"), fields.maybe("secret_file")
    before = "" if secret_file else " It was there before; its secret was shown then, and is not shown again."
    yield f"{screen.good('Done.')} Webhook {webhook_id} is registered.{before}"
    yield Fact("Address", fields.text("url"), whole=True)
    yield from _subscription(fields)
    if secret_file:
        yield Fact("Secret", f"in {secret_file}, which only you can read; your receiver verifies messages with it")
    yield following(f"webhook:test {webhook_id}")


def _webhook(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    yield Heading(fields.text("webhook_id"))
    yield Fact("Address", fields.text("url"), whole=True)
    yield from _subscription(fields)
    yield Fact("Last success", _moment(fields, "last_success_at", screen) or "none yet")
    if failures := fields.whole("failure_count"):
        status, result = fields.maybe_whole("last_status"), fields.maybe("last_result")
        reason = f"status {status}" if status is not None else result or "no answer"
        since = f" since {begun}" if (begun := _moment(fields, "failing_since", screen)) else ""
        yield Fact("Failing", screen.bad(f"{counted(failures, 'time')} in a row{since}: {reason}"))
        yield Fact("Next attempt", _moment(fields, "next_attempt_at", screen) or "none")


def _moment(fields: Fields, name: str, screen: Screen) -> str | None:
    """A moment of the API (ISO 8601) as all other times are shown; None where it is null."""
    found = fields.maybe(name)
    return None if found is None else at(int(datetime.fromisoformat(found).timestamp()), screen)


def _requested(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"A test message for webhook {fields.text('webhook_id')} is on its way; it is sent within seconds."
    yield Fact("State", _STATES[fields.text("state")])
    yield following("webhook:list")


def _rotated(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    yield f"{screen.good('Done.')} The new secret of webhook {fields.text('webhook_id')} is in its file."
    yield Fact("Secret", fields.text("secret_file"))
    yield Fact("Next", "have your receiver accept both secrets until the old one ends")


def _removed(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    yield f"{screen.good('Done.')} Webhook {fields.text('webhook_id')} is gone; nothing more is sent to it."


TEXTS = {
    "webhook_add.registered": _registered,
    "webhook_list.webhook": _webhook,
    "webhook_test.requested": _requested,
    "webhook_rotate.rotated": _rotated,
    "webhook_remove.removed": _removed,
}
