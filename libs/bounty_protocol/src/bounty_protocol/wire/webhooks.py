"""Webhooks: what registers one, how it is shown to its subscriber, and the messages that its receiver gets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from bounty_protocol.shapes import OMITTED, Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId
from bounty_protocol.wire.bounties import BountyFilter
from bounty_protocol.wire.changes import Change
from bounty_protocol.wire.values import ChangeNumber, Finality, Timestamp, WebhookId, WebhookState

MAX_URL: Final = 1_024
ID_FIELD: Final = "webhook-id"
TIMESTAMP_FIELD: Final = "webhook-timestamp"
SIGNATURE_FIELD: Final = "webhook-signature"
FIELDS: Final[Mapping[str, str]] = {
    ID_FIELD: "Names the message; the same when it comes again.",
    TIMESTAMP_FIELD: "When this request was made, in seconds since 1970. Refuse one that is minutes old.",
    SIGNATURE_FIELD: "For each secret that is valid, `v1,` and the base64 of HMAC-SHA256 over `ID.TIMESTAMP.BODY`, "
    "separated by spaces. Verify over the bytes as they came.",
}
"""The header fields of a message, which are those of Standard Webhooks."""
_FACTS_OF = "Facts that name this account, and of bounties in which it is Poster, Solver or Guardian."

_MATCHING = "Every fact of bounties that match by their terms and page, as the list's filters do; at least one of them."


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """The registration of a webhook: an address, and exactly one of an account, a bounty, a filter, or all bounties."""

    url: Annotated[str, Note("An https address without a user, a fragment or an IP address.", max_length=MAX_URL)]
    account_address: Annotated[Address | None, Note(_FACTS_OF)] = None
    bounty_id: BountyId | None = None
    all_bounties: Annotated[bool, Note("Every fact of the Hub.")] = False
    finality: Finality = Finality.FINALIZED
    bounties_matching: Annotated[BountyFilter | None, OMITTED, Note(_MATCHING)] = None


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook, and how its receiver does."""

    webhook_id: WebhookId
    url: str
    account_address: Address | None
    bounty_id: BountyId | None
    all_bounties: bool
    finality: Finality
    state: WebhookState
    created_at: Timestamp
    last_attempt_at: Timestamp | None
    last_success_at: Timestamp | None
    last_result: Annotated[str | None, Note("How the last attempt ended: delivered, or why it was not.")]
    last_status: Annotated[int | None, Note("The HTTP status of the last answer, where there was one.")]
    failure_count: Annotated[int, Note("Attempts that failed in a row.")]
    failing_since: Timestamp | None
    next_attempt_at: Annotated[Timestamp | None, Note("Only of a webhook whose last attempt failed.")]
    bounties_matching: Annotated[BountyFilter | None, OMITTED, Note(_MATCHING)] = None


@dataclass(frozen=True, slots=True)
class RegisteredWebhook:
    """A webhook with a secret that was just made: it is shown this once. Null where nothing was made."""

    webhook: Webhook
    secret: Annotated[str | None, Note("whsec_ and base64, as libraries for Standard Webhooks take it.")]


@dataclass(frozen=True, slots=True)
class WebhookList:
    """The webhooks of the account that signed, oldest first."""

    items: tuple[Webhook, ...]


@dataclass(frozen=True, slots=True)
class RemovedWebhook:
    """A webhook that is not there any more."""

    webhook_id: WebhookId
    removed: bool


@dataclass(frozen=True, slots=True)
class FactsData:
    """Facts in the order of the chain, each as the feed of changes has it."""

    webhook_id: WebhookId
    chain_id: ChainId
    hub_address: Address
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class FactsMessage:
    """The message of new facts. ``timestamp`` is the time of the newest one's block."""

    type: Literal["hub.facts"]
    timestamp: Timestamp
    data: FactsData


@dataclass(frozen=True, slots=True)
class MissedData:
    """From where facts come again, because the index lost count of what it had sent."""

    webhook_id: WebhookId
    chain_id: ChainId
    hub_address: Address
    last_block_number: Annotated[BlockNumber, Note("What was sent of later blocks may not hold.")]
    after: Annotated[ChangeNumber, Note("Facts go on after this change; `GET /api/changes` reads from it, too.")]


@dataclass(frozen=True, slots=True)
class MissedMessage:
    """The message to a receiver that may have missed something: the index was restored from a backup."""

    type: Literal["hub.missed"]
    timestamp: Timestamp
    data: MissedData


@dataclass(frozen=True, slots=True)
class SealedWorkData:
    """A recorded Submission, by its Solver and commitment."""

    webhook_id: WebhookId
    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    solver_address: Address
    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class LostWorkMessage:
    """The message that the storage has no longer the sealed bytes of a Submission. Its Solver can put them back."""

    type: Literal["submission.lost"]
    timestamp: Timestamp
    data: SealedWorkData


@dataclass(frozen=True, slots=True)
class RestoredWorkMessage:
    """The message that sealed bytes which were lost are there again, and were hashed."""

    type: Literal["submission.restored"]
    timestamp: Timestamp
    data: SealedWorkData


@dataclass(frozen=True, slots=True)
class ChallengeData:
    """The value that the receiver has to answer with, as ``{"challenge": …}``."""

    webhook_id: WebhookId
    challenge: str


@dataclass(frozen=True, slots=True)
class ChallengeMessage:
    """The first message, a challenge."""

    type: Literal["webhook.challenge"]
    timestamp: Timestamp
    data: ChallengeData


@dataclass(frozen=True, slots=True)
class TestData:
    """Which webhook is tested."""

    webhook_id: WebhookId


@dataclass(frozen=True, slots=True)
class TestMessage:
    """The message of a test that a subscriber asks for."""

    type: Literal["webhook.test"]
    timestamp: Timestamp
    data: TestData


WebhookMessage = FactsMessage | MissedMessage | LostWorkMessage | RestoredWorkMessage | ChallengeMessage | TestMessage
"""Every message that a receiver can get."""


@dataclass(frozen=True, slots=True)
class ChallengeAnswer:
    """A receiver's answer to a challenge: the same value."""

    challenge: str
