"""The configuration of the worker of the webhooks: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bounty_protocol.crypto.x25519 import Identity, parse_keyring
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, ChainId
from service_common.chain.settings import read_hub
from service_common.common_settings import read_database_url, read_internal_port, read_log_level, read_redis_url
from service_common.config import EnvironmentReader

from service_api.webhooks.receivers import ReceiverRules
from service_api.webhooks.settings import read_receiver_rules


@dataclass(frozen=True, slots=True)
class WebhooksConfig:
    """One Hub's webhooks. It reads the index, and no chain. ``keyring``: the newest key first."""

    chain_id: ChainId
    hub_address: Address
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    keyring: tuple[Identity, ...] = field(repr=False)
    rules: ReceiverRules
    internal_port: int
    log_level: int


def read_config(environment: Mapping[str, str]) -> WebhooksConfig:
    """Read the environment and the key file; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    chain_id, hub_address = read_hub(reader)
    config = WebhooksConfig(
        chain_id=chain_id,
        hub_address=hub_address,
        database_url=read_database_url(reader),
        redis_url=read_redis_url(reader),
        keyring=_read_keyring(reader),
        rules=read_receiver_rules(reader, chain_id),
        internal_port=read_internal_port(reader),
        log_level=read_log_level(reader),
    )
    reader.check()
    return config


def _read_keyring(reader: EnvironmentReader) -> tuple[Identity, ...]:
    text = reader.secret_file("SERVICE_WEBHOOK_PRIVATE_KEYS", "age identities as a JSON array, newest first")
    if not text:
        return ()
    try:
        return parse_keyring(text)
    except (ValueError, ServiceError):
        reader.refuse("the file named by SERVICE_WEBHOOK_PRIVATE_KEYS_FILE is not a JSON array of AGE-SECRET-KEY-1…")
        return ()
