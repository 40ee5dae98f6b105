"""Events of the commands about webhooks. A secret is in its file and in no event."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from bounty_protocol.shapes import OMITTED, parts, to_json
from bounty_protocol.types import Address, BountyId
from bounty_protocol.wire.bounties import BountyFilter
from bounty_protocol.wire.values import Finality, Timestamp, WebhookId, WebhookState
from bounty_protocol.wire.webhooks import Webhook

from service_cli.shell.event import Event
from service_cli.shell.items import Field, Heading, Shown
from service_cli.shell.phrases import at, counted, following

if TYPE_CHECKING:
    from service_cli.shell.render.screen import Screen

_STATES: Final = {
    WebhookState.PENDING: "pending: the address has not answered its challenge yet",
    WebhookState.ACTIVE: "active",
    WebhookState.OFF: "off: the address failed for days; remove it and add it again",
}


@dataclass(frozen=True, slots=True)
class AddedWebhook(Event):
    """The webhook is there; `secret_file` is null where it was there before."""

    EVENT: ClassVar[str] = "webhook_add.registered"
    webhook_id: WebhookId
    url: str
    account_address: Address | None
    bounty_id: BountyId | None
    all_bounties: bool
    finality: Finality
    state: WebhookState
    secret_file: str | None
    bounties_matching: Annotated[BountyFilter | None, OMITTED] = None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        webhook_id, secret_file = self.webhook_id, self.secret_file
        before = "" if secret_file else " It was there before; its secret was shown then, and is not shown again."
        yield f"{screen.good('Done.')} Webhook {webhook_id} is registered.{before}"
        yield Field("Address", self.url, whole=True)
        yield from _subscription(self)
        if secret_file:
            yield Field("Secret", f"in {secret_file}, which only you can read; your receiver verifies messages with it")
        yield following(f"webhook:test {webhook_id}")


@dataclass(frozen=True, slots=True)
class ListedWebhook(Webhook, Event):
    """One for each webhook, oldest first."""

    EVENT: ClassVar[str] = "webhook_list.webhook"

    @staticmethod
    def of(webhook: Webhook) -> "ListedWebhook":
        """It as the API has it."""
        return ListedWebhook(**{part.name: getattr(webhook, part.name) for part in parts(Webhook)})

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield Heading(self.webhook_id)
        yield Field("Address", self.url, whole=True)
        yield from _subscription(self)
        yield Field("Last success", _moment(self.last_success_at, screen) or "none yet")
        if failures := self.failure_count:
            status, result = self.last_status, self.last_result
            reason = f"status {status}" if status is not None else result or "no answer"
            since = f" since {begun}" if (begun := _moment(self.failing_since, screen)) else ""
            yield Field("Failing", screen.bad(f"{counted(failures, 'time')} in a row{since}: {reason}"))
            yield Field("Next attempt", _moment(self.next_attempt_at, screen) or "none")


def _subscription(webhook: AddedWebhook | ListedWebhook) -> Iterator[Shown]:
    """Its subject, and how it does."""
    account, bounty_id = webhook.account_address, webhook.bounty_id
    about = f"account {account}" if account else f"bounty {bounty_id}" if bounty_id else "all bounties"
    if (matching := webhook.bounties_matching) is not None:
        about = f"bounties with {', '.join(f'{name} {value}' for name, value in to_json(matching).items())}"
    is_final = webhook.finality is Finality.FINALIZED
    finality = "final facts only" if is_final else "facts at once, and what reorgs take back"
    yield Field("About", f"{about}; {finality}")
    yield Field("State", _STATES[webhook.state])


def _moment(time: Timestamp | None, screen: "Screen") -> str | None:
    """A moment of the API (ISO 8601) as all other times are shown; None where it is null."""
    return None if time is None else at(int(datetime.fromisoformat(time).timestamp()), screen)


@dataclass(frozen=True, slots=True)
class TestedWebhook(Event):
    """The message is sent within seconds."""

    EVENT: ClassVar[str] = "webhook_test.requested"
    webhook_id: WebhookId
    state: WebhookState

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"A test message for webhook {self.webhook_id} is on its way; it is sent within seconds."
        yield Field("State", _STATES[self.state])
        yield following("webhook:list")


@dataclass(frozen=True, slots=True)
class RotatedSecret(Event):
    """The new secret is in the file."""

    EVENT: ClassVar[str] = "webhook_rotate.rotated"
    webhook_id: WebhookId
    secret_file: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.good('Done.')} The new secret of webhook {self.webhook_id} is in its file."
        yield Field("Secret", self.secret_file)
        yield Field("Next", "have your receiver accept both secrets until the old one ends")


@dataclass(frozen=True, slots=True)
class DroppedWebhook(Event):
    """It is gone."""

    EVENT: ClassVar[str] = "webhook_remove.removed"
    webhook_id: WebhookId

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.good('Done.')} Webhook {self.webhook_id} is gone; nothing more is sent to it."
