"""The delivery service's configuration: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from bounty_protocol.crypto.x25519 import Identity, parse_keyring
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import parse_decimal
from service_common.chain.settings import ChainSettings, read_chain_settings
from service_common.common_settings import read_database_url, read_log_level
from service_common.config import EnvironmentReader
from service_common.web.settings import WebSettings, read_web_settings

KEY_GRACE_SECONDS: Final = 7 * 86_400


@dataclass(frozen=True, slots=True)
class DeliveryConfig:
    """One deployment's delivery. ``keyring``: current key first, retired keys after it."""

    chain: ChainSettings
    web: WebSettings
    database_url: str = field(repr=False)
    keyring: tuple[Identity, ...] = field(repr=False)
    key_grace_seconds: int
    """For how long after its retirement a key still takes new wraps."""
    log_level: int


def read_config(environment: Mapping[str, str]) -> DeliveryConfig:
    """Read the environment and the key file; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    config = DeliveryConfig(
        chain=read_chain_settings(reader),
        web=read_web_settings(reader),
        database_url=read_database_url(reader),
        keyring=_read_keyring(reader),
        key_grace_seconds=reader.optional(
            "SERVICE_DELIVERY_KEY_GRACE_SECONDS",
            parse_decimal,
            KEY_GRACE_SECONDS,
            "how long a retired key still accepts new wraps",
        ),
        log_level=read_log_level(reader),
    )
    reader.check()
    return config


def _read_keyring(reader: EnvironmentReader) -> tuple[Identity, ...]:
    text = reader.secret_file("SERVICE_DELIVERY_PRIVATE_KEYS", "X25519 keys as a JSON array, newest first")
    if not text:
        return ()
    try:
        return parse_keyring(text)
    except (ValueError, ServiceError):
        reader.refuse("the file named by SERVICE_DELIVERY_PRIVATE_KEYS_FILE is not a JSON array of AGE-SECRET-KEY-1…")
        return ()
