"""A deployment's settings for webhooks; the api and the worker read it from the same variables."""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID
from bounty_protocol.crypto.x25519 import parse_recipient
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32, ChainId
from service_common.config import EnvironmentReader, parse_count

from service_api.webhooks.receivers import HTTPS_PORT, ReceiverRules

DEFAULT_LIMIT: Final = 20
DEFAULT_TOTAL: Final = 10_000
_LOOPBACK: Final = "SERVICE_WEBHOOK_INSECURE_LOOPBACK"


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """Registration. ``key`` None: this deployment sends no webhooks."""

    key: Bytes32 | None
    limit: int
    """Webhooks of one account."""
    total: int
    """Webhooks of the deployment."""
    rules: ReceiverRules


def read_webhook_settings(reader: EnvironmentReader, chain_id: ChainId) -> WebhookSettings:
    """The settings of registration; mistakes are collected by ``reader``."""
    return WebhookSettings(
        key=reader.optional(
            "SERVICE_WEBHOOK_PUBLIC_KEY",
            _parse_key,
            None,
            "the age recipient (`age1…`) of the newest key of the worker's, to which secrets are sealed",
            shown="none: no webhooks",
        ),
        limit=reader.optional("SERVICE_WEBHOOK_LIMIT", parse_count, DEFAULT_LIMIT, "webhooks of one account"),
        total=reader.optional("SERVICE_WEBHOOK_TOTAL", parse_count, DEFAULT_TOTAL, "webhooks of the deployment"),
        rules=read_receiver_rules(reader, chain_id),
    )


def read_receiver_rules(reader: EnvironmentReader, chain_id: ChainId) -> ReceiverRules:
    """Which receivers are allowed; the ones on this machine on a local chain alone."""
    loopback = reader.optional(
        _LOOPBACK,
        _parse_yes,
        False,
        "`yes` allows receivers by http on this machine; refused on every chain but the local one",
        shown="none: public https only",
    )
    if loopback and chain_id != LOCAL_CHAIN_ID:
        reader.refuse(f"{_LOOPBACK} is for the local chain {LOCAL_CHAIN_ID} alone; unset it")
    ports = reader.optional(
        "SERVICE_WEBHOOK_PORTS",
        _parse_ports,
        frozenset({HTTPS_PORT}),
        "ports that receivers may have, separated by commas: the same for the api and for the "
        "worker (the Deployment, or in Compose the service, `webhooks`); the network policy has "
        "to let them through, too",
        shown="443",
    )
    return ReceiverRules(ports, loopback)


def _parse_key(text: str) -> Bytes32:
    try:
        return parse_recipient(text)
    except ServiceError:
        raise ValueError("an age recipient: age1…") from None


def _parse_yes(text: str) -> bool:
    if text != "yes":
        raise ValueError("yes, or unset")
    return True


def _parse_ports(text: str) -> frozenset[int]:
    ports = frozenset(parse_count(each.strip()) for each in text.split(","))
    if max(ports) > 65_535:
        raise ValueError("ports separated by commas, such as 443,8443")
    return ports
