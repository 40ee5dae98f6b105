"""The configuration of the worker of the webhooks: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bounty_protocol.crypto.x25519 import Identity, parse_keyring
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ChainId, parse_decimal
from service_common.config import EnvironmentReader, parse_database_url, parse_redis_url
from service_common.log import parse_level
from service_common.traces.settings import TraceSettings, read_trace_settings

from service_api.webhooks.receivers import ReceiverRules
from service_api.webhooks.settings import read_receiver_rules


@dataclass(frozen=True, slots=True)
class WebhooksConfig:
    """One chain's webhooks. It reads the index, and no chain. ``keyring``: the newest key first."""

    chain_id: ChainId
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    keyring: tuple[Identity, ...] = field(repr=False)
    rules: ReceiverRules
    internal_port: int
    traces: TraceSettings
    log_level: int


def read_config(environment: Mapping[str, str]) -> WebhooksConfig:
    """Read the environment and the key file; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    chain_id = reader.required("SERVICE_CHAIN_ID", lambda text: ChainId(parse_decimal(text)))
    config = WebhooksConfig(
        chain_id=chain_id,
        database_url=reader.required("SERVICE_DATABASE_URL", parse_database_url),
        redis_url=reader.required("SERVICE_REDIS_URL", parse_redis_url),
        keyring=_read_keyring(reader),
        rules=read_receiver_rules(reader, chain_id),
        internal_port=reader.optional("SERVICE_INTERNAL_PORT", parse_decimal, 9090),
        traces=read_trace_settings(reader),
        log_level=reader.optional("SERVICE_LOG_LEVEL", parse_level, 20),
    )
    reader.check()
    return config


def _read_keyring(reader: EnvironmentReader) -> tuple[Identity, ...]:
    text = reader.secret_file("SERVICE_WEBHOOK_PRIVATE_KEYS")
    if not text:
        return ()
    try:
        return parse_keyring(text)
    except (ValueError, ServiceError):
        reader.refuse("the file named by SERVICE_WEBHOOK_PRIVATE_KEYS_FILE is not a JSON array of AGE-SECRET-KEY-1…")
        return ()
