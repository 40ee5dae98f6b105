"""What the indexer is told: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service_common.chain.settings import ChainSettings, read_chain_settings
from service_common.config import EnvironmentReader
from service_common.log import parse_level
from service_common.types import parse_decimal


@dataclass(frozen=True, slots=True)
class IndexerConfig:
    """One chain, one Hub, one copy. ``settler_key`` None: the settler does nothing."""

    chain: ChainSettings
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    settler_key: str | None = field(repr=False)
    internal_port: int
    log_level: int


def read_config(environment: Mapping[str, str]) -> IndexerConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    config = IndexerConfig(
        chain=read_chain_settings(reader),
        database_url=reader.required("SERVICE_DATABASE_URL", str),
        redis_url=reader.required("SERVICE_REDIS_URL", str),
        settler_key=reader.optional("SERVICE_SETTLER_PRIVATE_KEY", str, None),
        internal_port=reader.optional("SERVICE_INTERNAL_PORT", parse_decimal, 9090),
        log_level=reader.optional("SERVICE_LOG_LEVEL", parse_level, 20),
    )
    reader.check()
    return config
