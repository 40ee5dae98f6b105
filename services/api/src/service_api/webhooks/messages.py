"""The messages of webhooks, in the form of Standard Webhooks: a body, an id, and signatures.

A message of facts has an id that follows from its webhook and its facts, so that a repetition is known as one.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

import orjson
from bounty_protocol.clock import iso_utc
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BlockNumber, UnixSeconds
from bounty_protocol.wire.changes import Change
from bounty_protocol.wire.values import ChangeNumber, Timestamp, WebhookId
from bounty_protocol.wire.webhooks import (
    ID_FIELD,
    SIGNATURE_FIELD,
    TIMESTAMP_FIELD,
    ChallengeData,
    ChallengeMessage,
    FactsData,
    FactsMessage,
    LostWorkMessage,
    MissedData,
    MissedMessage,
    RestoredWorkMessage,
    SealedWorkData,
    TestData,
    TestMessage,
    WebhookMessage,
)
from service_common.db.app import WorkNotice
from service_common.db.hub_reads import Head

from service_api.webhooks.notices import SealedWorkNotice
from service_api.webhooks.secrets import signature_field
from service_api.webhooks.sending import Outgoing

MAX_FACTS: Final = 50
"""Facts in a message."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to a receiver. ``challenge`` is what it has to answer with, where it has to."""

    message_id: str
    content: WebhookMessage
    challenge: str | None = field(default=None, repr=False)


def facts_message(webhook_id: WebhookId, head: Head, changes: Sequence[Change]) -> Message:
    """A message of facts; at least one."""
    message_id = _id_of(webhook_id, *(_name(change) for change in changes))
    times = [change.event.time for change in changes if change.event is not None]
    newest = Timestamp(iso_utc(times[-1] if times else head.block_time))
    data = FactsData(webhook_id, head.chain_id, head.hub_address, tuple(changes))
    return Message(message_id, FactsMessage("hub.facts", newest, data))


def missed_message(webhook_id: WebhookId, head: Head, last_block: BlockNumber, after: ChangeNumber) -> Message:
    """A message that what was sent of later blocks may not hold, and where the facts go on."""
    message_id = _id_of(webhook_id, f"missed/{last_block}/{after}")
    data = MissedData(webhook_id, head.chain_id, head.hub_address, last_block, after)
    return Message(message_id, MissedMessage("hub.missed", Timestamp(iso_utc(head.block_time)), data))


def work_message(webhook_id: WebhookId, head: Head, notice: SealedWorkNotice) -> Message:
    """A message about sealed work; the same id whenever it is sent again."""
    message_id = _id_of(webhook_id, f"notice/{notice.number}/{notice.submission_commitment}")
    names = notice.bounty_id, notice.solver, notice.submission_commitment
    data = SealedWorkData(webhook_id, head.chain_id, head.hub_address, *names)
    at = Timestamp(iso_utc(notice.at))
    if notice.kind is WorkNotice.LOST:
        return Message(message_id, LostWorkMessage("submission.lost", at, data))
    return Message(message_id, RestoredWorkMessage("submission.restored", at, data))


def challenge_message(webhook_id: WebhookId, now: UnixSeconds) -> Message:
    """A message whose value nobody can know who does not get it."""
    value = secrets.token_urlsafe(32)
    content = ChallengeMessage("webhook.challenge", Timestamp(iso_utc(now)), ChallengeData(webhook_id, value))
    return Message(_random_id(), content, value)


def message_of_test(webhook_id: WebhookId, now: UnixSeconds) -> Message:
    """A message that its subscriber asked for."""
    return Message(_random_id(), TestMessage("webhook.test", Timestamp(iso_utc(now)), TestData(webhook_id)))


def signed(message: Message, keys: Sequence[bytes], now: UnixSeconds) -> Outgoing:
    """The request that carries a message, signed at this moment with each of its webhook's secrets."""
    body = orjson.dumps(to_json(message.content))
    fields = {
        ID_FIELD: message.message_id,
        TIMESTAMP_FIELD: str(now),
        SIGNATURE_FIELD: signature_field(keys, message.message_id, now, body),
    }
    return Outgoing(body, fields, message.challenge)


def _name(change: Change) -> str:
    """The identity of a fact, whatever its number in this index."""
    event = change.event
    if event is None:
        return f"retraction/{change.number}/{change.last_block_number}"
    return f"event/{event.block_hash}/{event.log_index}"


def _id_of(*named: str) -> str:
    """The same for the same content, so that a receiver knows a message that is sent again."""
    return "msg_" + sha256("\n".join(named).encode()).hexdigest()[:32]


def _random_id() -> str:
    return "msg_" + secrets.token_hex(16)
