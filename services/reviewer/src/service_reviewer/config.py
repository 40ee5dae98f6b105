"""The reviewer's configuration: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from bounty_protocol.types import parse_decimal
from service_common.common_settings import (
    read_database_url,
    read_host,
    read_internal_port,
    read_log_level,
    read_port,
    read_redis_url,
)
from service_common.config import EnvironmentReader, within

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
    internal_port: int
    log_level: int


@dataclass(frozen=True, slots=True)
class ServingConfig:
    """The reviewer's HTTP face: it has no database, no queue, no key and no model."""

    host: str
    port: int
    internal_port: int
    log_level: int


def read_config(environment: Mapping[str, str]) -> ReviewerConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    provider = reader.optional(
        "SERVICE_REVIEW_PROVIDER",
        _parse_provider,
        None,
        "`rules` or `openai`; without it every review is `orchestrator_unconfigured`",
        shown="none",
    )
    config = ReviewerConfig(
        database_url=read_database_url(reader),
        redis_url=read_redis_url(reader),
        provider=provider,
        model=_read_model(reader) if provider == "openai" else None,
        daily_cap=reader.optional(
            "SERVICE_REVIEW_DAILY_CAP", parse_decimal, 500, "paid reviews of the deployment in a rolling 24 hours"
        ),
        internal_port=read_internal_port(reader),
        log_level=read_log_level(reader),
    )
    reader.check()
    return config


def read_serving_config(environment: Mapping[str, str]) -> ServingConfig:
    """Read the configuration of the process that answers HTTP requests."""
    reader = EnvironmentReader(environment)
    config = serving_config(reader)
    reader.check()
    return config


def serving_config(reader: EnvironmentReader) -> ServingConfig:
    """Read the settings of that process; none is required."""
    return ServingConfig(
        host=read_host(reader),
        port=read_port(reader),
        internal_port=read_internal_port(reader),
        log_level=read_log_level(reader),
    )


def _read_model(reader: EnvironmentReader) -> ModelSettings:
    return ModelSettings(
        base_url=reader.required(
            "SERVICE_OPENAI_BASE_URL",
            _parse_url,
            "the model's endpoint; this and the next two settings only with `openai`",
        ),
        api_key=reader.required("SERVICE_OPENAI_API_KEY", str, "its key"),
        model=reader.required("SERVICE_OPENAI_MODEL", str, "the model's name at that endpoint"),
        timeout_seconds=reader.optional(
            "SERVICE_OPENAI_TIMEOUT_SECONDS",
            within(1, MAX_TIMEOUT_SECONDS),
            60,
            "the longest a model may take for both its answers",
        ),
    )


def _parse_url(text: str) -> str:
    if not text.startswith(("https://", "http://")) or any(character.isspace() for character in text):
        raise ValueError("an address that begins with https:// (or http:// on the same machine)")
    return text.rstrip("/")


def _parse_provider(text: str) -> str | None:
    if text not in PROVIDERS:
        raise ValueError(f"a review provider is one of {', '.join(PROVIDERS)}")
    return text
