"""The configuration of the jobs that store and fetch dumps: each a record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from bounty_protocol.crypto.x25519 import Identity, parse_keyring, parse_recipient
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32
from service_common.common_settings import read_log_level
from service_common.config import EnvironmentReader
from service_common.storage_settings import StorageSettings, parse_bucket, read_storage_settings

MAX_RECIPIENTS: Final = 16


@dataclass(frozen=True, slots=True)
class StoringConfig:
    """The settings for storing a dump. Each of ``recipients`` alone opens it."""

    storage: StorageSettings
    recipients: tuple[Bytes32, ...]
    log_level: int


@dataclass(frozen=True, slots=True)
class FetchingConfig:
    """The settings for fetching a dump. ``identities``: any that opens it is enough."""

    storage: StorageSettings
    identities: tuple[Identity, ...] = field(repr=False)
    log_level: int


def read_storing_config(environment: Mapping[str, str]) -> StoringConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    config = StoringConfig(
        storage=read_storage_settings(reader, _read_bucket(reader)),
        recipients=reader.required(
            "SERVICE_BACKUP_RECIPIENTS",
            parse_recipients,
            "the age recipients (`age1…`) each of which opens a dump, separated by commas",
        ),
        log_level=read_log_level(reader),
    )
    reader.check()
    return config


def read_fetching_config(environment: Mapping[str, str]) -> FetchingConfig:
    """Read the environment and the key file; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    config = FetchingConfig(
        storage=read_storage_settings(reader, _read_bucket(reader)),
        identities=_read_identities(reader),
        log_level=read_log_level(reader),
    )
    reader.check()
    return config


def _read_bucket(reader: EnvironmentReader) -> str:
    about = "the bucket that encrypted dumps are copied to; not the api's"
    return reader.required("SERVICE_BACKUP_BUCKET", parse_bucket, about)


def parse_recipients(text: str) -> tuple[Bytes32, ...]:
    """``age1…`` recipients, separated by commas; each once."""
    try:
        recipients = tuple(parse_recipient(part.strip()) for part in text.split(","))
    except ServiceError:
        raise ValueError("age recipients (age1…), separated by commas") from None
    if len(set(recipients)) != len(recipients) or len(recipients) > MAX_RECIPIENTS:
        raise ValueError(f"at most {MAX_RECIPIENTS} age recipients, each once")
    return recipients


def _read_identities(reader: EnvironmentReader) -> tuple[Identity, ...]:
    text = reader.secret_file(
        "SERVICE_BACKUP_PRIVATE_KEYS", "age identities that open dumps, as a JSON array; `fetch-dump` alone reads it"
    )
    if not text:
        return ()
    try:
        return parse_keyring(text)
    except (ValueError, ServiceError):
        reader.refuse("the file named by SERVICE_BACKUP_PRIVATE_KEYS_FILE is not a JSON array of AGE-SECRET-KEY-1…")
        return ()
