"""The api's configuration: one record, read once, checked whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID, BeaconRecord, deployment_of
from bounty_protocol.crypto.beacon_info import parse_beacon_key, parse_chain_hash
from bounty_protocol.types import ChainId, parse_decimal
from service_common.budgets import Budget
from service_common.chain.settings import ChainSettings, parse_urls, read_chain_settings
from service_common.common_settings import read_database_url, read_log_level, read_redis_url
from service_common.config import EnvironmentReader, parse_count, parse_switch
from service_common.web.callers import CallerBudgets
from service_common.web.settings import WebSettings, parse_origin, read_web_settings

from service_api.pages.config import PageSettings, parse_contact, read_page_settings
from service_api.storage.settings import StorageSettings, read_storage_settings

DEFAULT_REVIEW_QUOTA = 20
DEFAULT_REVIEW_WAIT_SECONDS = 25
DEFAULT_REVIEWER_URL = "http://reviewer:8080"
"""As the manifests name it: an api that is upgraded before its ConfigMap starts all the same."""
DEFAULT_PENDING_MEBIBYTES = 2_048
GOOGLE = "https://storage.googleapis.com"
"""Where signed addresses of ciphertexts lead unless a deployment has another storage."""


_HOUR = 3_600


@dataclass(frozen=True, slots=True)
class ApiBudgets(CallerBudgets):
    """How much each caller may use of the api in a while; what is expensive is counted by all processes together."""

    subgraph: Budget = Budget("subgraph", 300, 60, shared=True)
    """GraphQL queries of a network address."""
    publications: Budget = Budget("publications", 60, _HOUR, shared=True)
    """Pages sent by a Poster, beside the quota of reviews."""
    publications_of_address: Budget = Budget("publications-of-address", 120, _HOUR, shared=True)
    reviews_of_address: Budget = Budget("reviews-of-address", 100, 24 * _HOUR, shared=True)
    """Reviews started from a network address, beside the quota of each Poster."""
    uploads: Budget = Budget("uploads", 60, _HOUR, shared=True)
    """Upload URLs of a Solver."""
    uploads_of_address: Budget = Budget("uploads-of-address", 600, _HOUR, shared=True)
    upload_mebibytes: Budget = Budget("upload-mebibytes", 16 * 1024, _HOUR, shared=True)
    """MiB that a Solver's upload URLs are for, each counted as a whole number of them."""
    upload_mebibytes_of_address: Budget = Budget("upload-mebibytes-of-address", 64 * 1024, _HOUR, shared=True)
    envelopes: Budget = Budget("envelopes", 120, _HOUR, shared=True)
    """Envelopes that a Solver sends to be prepared, those included that are repeated while their bytes are hashed."""
    envelopes_of_address: Budget = Budget("envelopes-of-address", 600, _HOUR, shared=True)
    page_checks: Budget = Budget("page-checks", 120, _HOUR, shared=True)
    """Pages from a network address that the rules check, whatever is found."""

    def times(self, factor: int) -> "ApiBudgets":
        """Return all budgets, multiplied."""
        budgets: list[Budget] = [getattr(self, each.name) for each in fields(self)]
        return ApiBudgets(*(replace(each, amount=each.amount * factor) for each in budgets))


@dataclass(frozen=True, slots=True)
class AtOnce:
    """Of a network address: requests that one process answers at a time."""

    publications: int = 4
    """With as many of the longest pages before it, another one's page is still reviewed while its Poster waits."""
    page_checks: int = 2
    queries: int = 1
    """Others of it wait for their turn."""
    requests: int = 16
    """Requests of all kinds together, without those that no process has to make an answer for."""

    def times(self, factor: int) -> "AtOnce":
        """Return all bounds, multiplied."""
        return AtOnce(*(getattr(self, each.name) * factor for each in fields(self)))


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
    reviewer_url: str
    takes_publications: bool
    """Whether challenge pages are checked and published here; not at a Hub that is left."""
    review_quota: int
    review_wait_seconds: int
    pending_bytes: int
    """How much is kept of each kind of row before the chain has what it belongs to."""
    budgets: ApiBudgets
    at_once: AtOnce
    report_address: str | None
    """Where unlawful text is reported."""
    pages: PageSettings
    log_level: int

    @property
    def public_url(self) -> str:
        """The origin at which people and programs reach this deployment."""
        scheme = "http" if self.has_moved_time else "https"
        return f"{scheme}://{self.web.public_host}"

    @property
    def has_moved_time(self) -> bool:
        """Whether the chain's time is moved by hand, as a local one's is."""
        return self.chain.chain_id == LOCAL_CHAIN_ID

    @property
    def bucket_url(self) -> str:
        """The address below which ciphertexts are uploaded and downloaded; ends with a slash."""
        return f"{self.storage.endpoint or GOOGLE}/{self.storage.bucket}/"


def read_config(environment: Mapping[str, str], *, pages_alone: bool = False) -> ApiConfig:
    """Read the environment; raises ``ConfigurationError`` naming everything that is wrong.

    A process with ``pages_alone`` has no Redis, no account at the bucket, and calls no other service.
    """
    reader = EnvironmentReader(environment)
    chain = read_chain_settings(reader)
    factor = reader.optional("SERVICE_BUDGET_FACTOR", parse_count, 1, "all budgets times this number")
    config = ApiConfig(
        chain=chain,
        web=read_web_settings(reader),
        storage=read_storage_settings(reader, with_account=not pages_alone),
        beacon=read_beacon_record(reader, chain.chain_id),
        database_url=read_database_url(reader),
        redis_url="" if pages_alone else read_redis_url(reader),
        delivery_url=""
        if pages_alone
        else reader.required("SERVICE_DELIVERY_URL", parse_origin, "the delivery service, inside the cluster"),
        reviewer_url=reader.optional(
            "SERVICE_REVIEWER_URL", parse_origin, DEFAULT_REVIEWER_URL, "the reviewer's service, inside the cluster"
        ),
        takes_publications=reader.optional(
            "SERVICE_PUBLICATIONS",
            parse_switch,
            True,
            "whether challenge pages are checked and published here; `off` for a Hub that is being left "
            "([keys](keys.md#leave-a-hub-for-another))",
        ),
        review_quota=reader.optional(
            "SERVICE_REVIEW_QUOTA", parse_decimal, DEFAULT_REVIEW_QUOTA, "reviews for each Poster in a rolling 24 hours"
        ),
        review_wait_seconds=reader.optional(
            "SERVICE_REVIEW_WAIT_SECONDS",
            parse_decimal,
            DEFAULT_REVIEW_WAIT_SECONDS,
            "how long a publication waits for its review",
        ),
        pending_bytes=reader.optional(
            "SERVICE_PENDING_MEBIBYTES",
            parse_count,
            DEFAULT_PENDING_MEBIBYTES,
            "how much is kept of envelopes that the Hub does not record, and as much again of pages that nobody "
            "funded; above half of it, only for accounts known on chain",
        )
        << 20,
        budgets=ApiBudgets().times(factor),
        at_once=AtOnce().times(factor),
        report_address=reader.optional(
            "SERVICE_REPORT_ADDRESS",
            parse_contact,
            None,
            "where unlawful text, or a wrong decision to withhold one, is reported, such as "
            "`mailto:report@bounties.example` ([run](run.md#withhold-a-text))",
            shown="none",
        ),
        pages=read_page_settings(reader),
        log_level=read_log_level(reader),
    )
    reader.check()
    return config


def read_beacon_record(reader: EnvironmentReader, chain_id: ChainId) -> BeaconRecord:
    """Read the randomness beacon that this deployment seals for; mistakes are collected by ``reader``.

    A known network's beacon is pinned in its deployment record and only its addresses may be overridden; the local
    network names all three. Genesis and period come from the beacon itself, checked by the chain hash.
    """
    record = deployment_of(chain_id)
    known = record.beacon if record is not None else None
    relays = known.urls if known is not None else None
    urls = reader.recorded("SERVICE_BEACON_URLS", parse_urls, relays, "relays of the beacon")
    if known is not None:
        return replace(known, urls=urls)
    chain, key = "the beacon's chain; only `local` sets it", "the beacon's key; only `local` sets it"
    return BeaconRecord(
        urls=urls,
        chain_hash=reader.recorded("SERVICE_BEACON_CHAIN_HASH", parse_chain_hash, None, chain),
        public_key=reader.recorded("SERVICE_BEACON_PUBLIC_KEY", parse_beacon_key, None, key),
        genesis_time=None,
        period_seconds=None,
    )
