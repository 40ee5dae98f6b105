"""The reviewer's configuration: one record, read once, checked whole."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final

from bounty_protocol.types import parse_decimal
from service_common.config import EnvironmentReader, parse_database_url, parse_redis_url
from service_common.log import parse_level
from service_common.traces.settings import TraceSettings, read_trace_settings

PROVIDERS: Final = ("rules", "openai")
MAX_TIMEOUT_SECONDS: Final = 80
"""With the rules before it, below the time that a review's job has."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """An OpenAI-compatible endpoint and how much of it one review may use."""

    base_url: str
    api_key: str = field(repr=False)
    model: str
    timeout_seconds: int
    max_output_tokens: int
    max_page_bytes: int


@dataclass(frozen=True, slots=True)
class ReviewerConfig:
    """One reviewer. ``provider`` None: every review ends as ``orchestrator_unconfigured``.

    ``daily_cap`` is how many paid reviews the whole deployment may start in a rolling 24 hours.
    """

    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    provider: str | None
    model: ModelSettings | None
    daily_cap: int
    host: str
    port: int
    internal_port: int
    traces: TraceSettings
    log_level: int


def read_config(environment: Mapping[str, str]) -> ReviewerConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    provider = reader.optional("SERVICE_REVIEW_PROVIDER", _parse_provider, None)
    config = ReviewerConfig(
        database_url=reader.required("SERVICE_DATABASE_URL", parse_database_url),
        redis_url=reader.required("SERVICE_REDIS_URL", parse_redis_url),
        provider=provider,
        model=_read_model(reader) if provider == "openai" else None,
        daily_cap=reader.optional("SERVICE_REVIEW_DAILY_CAP", parse_decimal, 500),
        host=reader.optional("SERVICE_HOST", str, "127.0.0.1"),
        port=reader.optional("SERVICE_PORT", parse_decimal, 8080),
        internal_port=reader.optional("SERVICE_INTERNAL_PORT", parse_decimal, 9090),
        traces=read_trace_settings(reader),
        log_level=reader.optional("SERVICE_LOG_LEVEL", parse_level, 20),
    )
    reader.check()
    return config


def _read_model(reader: EnvironmentReader) -> ModelSettings:
    return ModelSettings(
        base_url=reader.required("SERVICE_OPENAI_BASE_URL", _parse_url),
        api_key=reader.required("SERVICE_OPENAI_API_KEY", str),
        model=reader.required("SERVICE_OPENAI_MODEL", str),
        timeout_seconds=reader.optional("SERVICE_OPENAI_TIMEOUT_SECONDS", _within(1, MAX_TIMEOUT_SECONDS), 60),
        max_output_tokens=reader.optional("SERVICE_OPENAI_MAX_OUTPUT_TOKENS", _within(256, 64_000), 4_000),
        max_page_bytes=reader.optional("SERVICE_OPENAI_MAX_PAGE_BYTES", _within(1_024, 262_144), 131_072),
    )


def _within(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not least <= (value := parse_decimal(text)) <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return value

    return parse


def _parse_url(text: str) -> str:
    if not text.startswith(("https://", "http://")) or any(character.isspace() for character in text):
        raise ValueError("an address that begins with https:// (or http:// on the same machine)")
    return text.rstrip("/")


def _parse_provider(text: str) -> str | None:
    if text not in PROVIDERS:
        raise ValueError(f"a review provider is one of {', '.join(PROVIDERS)}")
    if text == "openai" and find_spec("openai") is None:
        raise ValueError("the provider openai needs its SDK here: install service-reviewer[openai]")
    return text
