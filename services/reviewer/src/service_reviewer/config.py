"""What the reviewer is told: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service_common.config import EnvironmentReader
from service_common.log import parse_level
from service_common.types import parse_decimal

PROVIDERS = ("rules",)


@dataclass(frozen=True, slots=True)
class ReviewerConfig:
    """One reviewer. ``provider`` None: every review ends as ``orchestrator_unconfigured``."""

    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    provider: str | None
    host: str
    port: int
    internal_port: int
    log_level: int


def read_config(environment: Mapping[str, str]) -> ReviewerConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    config = ReviewerConfig(
        database_url=reader.required("SERVICE_DATABASE_URL", str),
        redis_url=reader.required("SERVICE_REDIS_URL", str),
        provider=reader.optional("SERVICE_REVIEW_PROVIDER", _parse_provider, None),
        host=reader.optional("SERVICE_HOST", str, "127.0.0.1"),
        port=reader.optional("SERVICE_PORT", parse_decimal, 8080),
        internal_port=reader.optional("SERVICE_INTERNAL_PORT", parse_decimal, 9090),
        log_level=reader.optional("SERVICE_LOG_LEVEL", parse_level, 20),
    )
    reader.check()
    return config


def _parse_provider(text: str) -> str | None:
    if text not in PROVIDERS:
        raise ValueError(f"a review provider is one of {', '.join(PROVIDERS)}")
    return text
