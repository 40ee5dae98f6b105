"""The processes of the service, in one list: what runs, with which part of the configuration, ready when.

Each is started through the console entry point that its image uses. Secrets reach it as ``NAME_FILE``, a file of mode
0600; its database password is that of its service's own role.
"""

from dataclasses import dataclass
from typing import Final

ROLES: Final = ("service_api", "service_pages", "service_indexer", "service_reviewer", "service_delivery")
"""Login roles of PostgreSQL beside the migrator, which owns the database; `grants.sql` gives them their rights."""
MIGRATOR: Final = "service_migrator"

_CHAIN: Final = ("SERVICE_CHAIN_ID", "SERVICE_HUB_ADDRESS", "SERVICE_DEPLOY_BLOCK")
_RPC: Final = (*_CHAIN, "SERVICE_RPC_URLS")
_BEACON: Final = ("SERVICE_BEACON_URLS", "SERVICE_BEACON_CHAIN_HASH", "SERVICE_BEACON_PUBLIC_KEY")
_STORAGE: Final = ("SERVICE_STORAGE_BUCKET", "SERVICE_STORAGE_ENDPOINT")


@dataclass(frozen=True, slots=True)
class ServiceProcess:
    """One process. ``variables`` and ``secrets`` name values that the stack knows; a secret goes in as a file."""

    name: str
    command: tuple[str, ...]
    role: str | None
    """Its role in the database, where it has one."""
    variables: tuple[str, ...]
    secrets: tuple[str, ...] = ("SERVICE_REDIS_URL",)
    serves: bool = False
    """Whether it listens on SERVICE_PORT too; every process has /readyz and /metrics on SERVICE_INTERNAL_PORT."""


MIGRATE: Final = ServiceProcess("migrate", ("service-api", "migrate"), MIGRATOR, (), ())

_SETTLER_SECRETS: Final = ("SERVICE_REDIS_URL", "SERVICE_SETTLER_PRIVATE_KEY")
_LIMITS: Final = ("SERVICE_REVIEW_QUOTA", "SERVICE_BUDGET_FACTOR")
_API: Final = (
    *(*_RPC, *_BEACON, *_STORAGE, *_LIMITS),
    *("SERVICE_PUBLIC_HOST", "SERVICE_DELIVERY_URL", "SERVICE_REVIEWER_URL"),
)
_API_SECRETS: Final = ("SERVICE_REDIS_URL", "SERVICE_STORAGE_CREDENTIALS")
_DELIVERY: Final = (*_RPC, "SERVICE_PUBLIC_HOST")
_DELIVERY_SECRETS: Final = ("SERVICE_DELIVERY_PRIVATE_KEYS",)
_REVIEWER: Final = ("SERVICE_REVIEW_PROVIDER", *_CHAIN)

SERVICES: Final = (
    ServiceProcess("indexer-worker", ("service-indexer", "worker"), "service_indexer", _RPC),
    ServiceProcess("settler", ("service-indexer", "settler"), "service_indexer", _RPC, _SETTLER_SECRETS),
    ServiceProcess("api", ("service-api", "serve"), "service_api", _API, _API_SECRETS, serves=True),
    ServiceProcess("api-worker", ("service-api", "worker"), "service_api", _API, _API_SECRETS),
    ServiceProcess("reviewer", ("service-reviewer", "serve"), None, (), (), serves=True),
    ServiceProcess("reviewer-worker", ("service-reviewer", "worker"), "service_reviewer", _REVIEWER),
    ServiceProcess(
        "delivery", ("service-delivery", "serve"), "service_delivery", _DELIVERY, _DELIVERY_SECRETS, serves=True
    ),
)
