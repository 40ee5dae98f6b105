"""Settings that most processes have, each defined once."""

from collections.abc import Mapping
from typing import Final

from service_common.config import EnvironmentReader, parse_database_url, parse_redis_url, within
from service_common.log import parse_level

_PORT: Final = within(1, 65_535)


def read_database_url(reader: EnvironmentReader) -> str:
    """Read ``SERVICE_DATABASE_URL``."""
    return reader.required("SERVICE_DATABASE_URL", parse_database_url, "PostgreSQL as this service's own role")


def database_url_of(environment: Mapping[str, str]) -> str:
    """Read ``SERVICE_DATABASE_URL`` for a command that needs nothing else."""
    reader = EnvironmentReader(environment)
    url = read_database_url(reader)
    reader.check()
    return url


def read_redis_url(reader: EnvironmentReader) -> str:
    """Read ``SERVICE_REDIS_URL``."""
    return reader.required("SERVICE_REDIS_URL", parse_redis_url, "Redis or Valkey")


def read_log_level(reader: EnvironmentReader) -> int:
    """Read ``SERVICE_LOG_LEVEL``, as a number of ``logging``."""
    about = "the least severe level that is logged"
    return reader.optional("SERVICE_LOG_LEVEL", parse_level, 20, about, shown="`INFO`")


def read_internal_port(reader: EnvironmentReader) -> int:
    """Read ``SERVICE_INTERNAL_PORT``."""
    about = "the port of `/healthz`, `/serving`, `/readyz` and `/metrics`"
    return reader.optional("SERVICE_INTERNAL_PORT", _PORT, 9090, about)


def read_internal_host(reader: EnvironmentReader) -> str:
    """Read ``SERVICE_INTERNAL_HOST``, when the port is opened, in every process that has one."""
    about = "where that port listens; 0.0.0.0 in a container"
    return reader.optional("SERVICE_INTERNAL_HOST", str, "127.0.0.1", about)


def read_host(reader: EnvironmentReader) -> str:
    """Read ``SERVICE_HOST``."""
    return reader.optional("SERVICE_HOST", str, "127.0.0.1", "the address that accepts HTTP requests")


def read_port(reader: EnvironmentReader) -> int:
    """Read ``SERVICE_PORT``."""
    return reader.optional("SERVICE_PORT", _PORT, 8080, "the port of HTTP requests")
