"""What the api is told: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service_common.chain.beacon_settings import read_beacon_record
from service_common.chain.deployment import BeaconRecord
from service_common.chain.settings import ChainSettings, read_chain_settings
from service_common.config import EnvironmentReader, parse_database_url, parse_redis_url
from service_common.log import parse_level
from service_common.storage.settings import StorageSettings, read_storage_settings
from service_common.traces.settings import TraceSettings, read_trace_settings
from service_common.types import parse_decimal
from service_common.web.settings import WebSettings, parse_origin, read_web_settings

DEFAULT_REVIEW_QUOTA = 20
DEFAULT_REVIEW_WAIT_SECONDS = 25


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Upload URLs in an hour, for one Solver and for one client address."""

    solver: int = 60
    client: int = 600


_UPLOADS = UploadLimits()


@dataclass(frozen=True, slots=True)
class ApiConfig:
    """One deployment's public API. ``review_quota`` is reviews per Poster in a rolling 24 hours."""

    chain: ChainSettings
    web: WebSettings
    storage: StorageSettings
    beacon: BeaconRecord
    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)
    delivery_url: str
    review_quota: int
    review_wait_seconds: int
    uploads: UploadLimits
    traces: TraceSettings
    log_level: int


def read_config(environment: Mapping[str, str]) -> ApiConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong."""
    reader = EnvironmentReader(environment)
    chain = read_chain_settings(reader)
    config = ApiConfig(
        chain=chain,
        web=read_web_settings(reader),
        storage=read_storage_settings(reader),
        beacon=read_beacon_record(reader, chain.chain_id),
        database_url=reader.required("SERVICE_DATABASE_URL", parse_database_url),
        redis_url=reader.required("SERVICE_REDIS_URL", parse_redis_url),
        delivery_url=reader.required("SERVICE_DELIVERY_URL", parse_origin),
        review_quota=reader.optional("SERVICE_REVIEW_QUOTA", parse_decimal, DEFAULT_REVIEW_QUOTA),
        review_wait_seconds=reader.optional("SERVICE_REVIEW_WAIT_SECONDS", parse_decimal, DEFAULT_REVIEW_WAIT_SECONDS),
        uploads=UploadLimits(
            solver=reader.optional("SERVICE_UPLOAD_SOLVER_LIMIT", _parse_limit, _UPLOADS.solver),
            client=reader.optional("SERVICE_UPLOAD_CLIENT_LIMIT", _parse_limit, _UPLOADS.client),
        ),
        traces=read_trace_settings(reader),
        log_level=reader.optional("SERVICE_LOG_LEVEL", parse_level, 20),
    )
    reader.check()
    return config


def _parse_limit(text: str) -> int:
    if (number := parse_decimal(text)) < 1:
        raise ValueError("a whole number from 1")
    return number
