"""Everything a use case may reach, made once per process and passed in.

Making it opens no connection; what never changes on chain (the Hub's immutables, the beacon) is read on first use and
kept.
"""

from dataclasses import dataclass, field
from functools import cached_property
from threading import BoundedSemaphore
from typing import Final, cast

import urllib3
from bounty_protocol.auth.typed_data import SigningDomain
from bounty_protocol.auth.verify import Authority
from bounty_protocol.chain.beacons import beacon_info
from bounty_protocol.chain.hub_constants import HubConstants, read_agreed_constants
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.clock import Clock, SystemClock
from bounty_protocol.crypto.beacon import HttpGet
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.errors import ServiceError
from bounty_protocol.timely import TimelyHttp
from bounty_protocol.types import Address, BountyId, Bytes32
from flask import Flask, current_app
from redis import Redis
from service_common.budgets import Budgets
from service_common.chain.recent_blocks import CALL_SECONDS, MAX_ANSWER_BYTES
from service_common.db.engine import make_engine
from service_common.db.hub_facts import FactSource
from service_common.jobs import ANSWER_SECONDS, connect
from service_common.recent import Recent
from service_common.web.callers import Callers
from sqlalchemy import Engine

from service_api.config import ApiConfig
from service_api.storage.gcs import GcsStore
from service_api.storage.port import DownloadTarget, ObjectStore

EXTENSION: Final = "service-api"
MAX_WAITING_REVIEWS: Final = 100
MAX_CHECKING: Final = 16
"""Pages that one process has checked by the reviewer at a time: a thread waits for each."""
MAX_FORWARDED_READS: Final = 8
"""Public reads that one process has the delivery service answer at a time: a thread waits for each."""
MAX_FORWARDED_OF_ADDRESS: Final = 2
"""Of one network address; more wait for a second."""
MAX_VERIFYING: Final = 8
"""Ciphertexts that one process hashes at a time while their requests wait; more go to the queue at once."""
REVIEW_STEP_SECONDS: Final = 5.0
"""How long one look for a review's result lasts."""
CONTENT_SECONDS: Final = 1.0
RECORD_SECONDS: Final = 30.0
DOWNLOAD_LIFETIME_SECONDS: Final = 5 * 60
FORWARDED_SECONDS: Final = 20.0
"""For a whole answer of the delivery service."""
MAX_KEPT: Final = 512
PENDING_SECONDS: Final = 30.0
"""For how long the sum of what waits for its transaction is not made again: what is written meanwhile passes it."""


@dataclass(frozen=True, slots=True)
class SharedContent:
    """One Submission's content, as the JSON that each reader gets, and who may read it."""

    readers: frozenset[Address]
    answer: bytes


@dataclass(frozen=True, slots=True)
class KeptDownload:
    """A download URL, and the generation that it names."""

    generation: int
    target: DownloadTarget


@dataclass
class Dependencies:
    """Dependencies shared by the use cases of one process. Thread-safe."""

    config: ApiConfig
    engine: Engine
    redis: Redis
    review_redis: Redis
    """For waiting on a review, which is silent for longer than anything else may be."""
    limits_redis: Redis
    """For counting requests, each once: a count whose answer came late is not made again."""
    store: ObjectStore
    rpc: Rpc
    http: TimelyHttp
    clock: Clock
    relays: HttpGet = field(default_factory=Urllib3Get)
    """For asking relays of the beacon."""
    review_places: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_WAITING_REVIEWS))
    check_places: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_CHECKING))
    forward_places: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_FORWARDED_READS))
    describe_place: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(1))
    """Held by the one read that has the chain and a beacon relay describe themselves: more would ask in turn."""
    verify_places: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(MAX_VERIFYING))
    contents: Recent[tuple[BountyId, Bytes32], SharedContent] = field(init=False)
    """Submissions read recently: what the index shows may be up to two seconds older."""
    downloads: Recent[str, KeptDownload] = field(init=False)
    """Download URLs by storage locator: none is returned that has less than half its life left."""
    records: Recent[tuple[BountyId, bytes, int], bool] = field(init=False)
    """Whether a VerificationRecord is what the facts make, by the hash of its bytes and the copy that has the facts."""
    pending: Recent[str, int] = field(init=False)
    """The bytes of each kind that wait for their transaction."""

    def __post_init__(self) -> None:
        self.records = Recent(RECORD_SECONDS, MAX_KEPT, self.clock)
        self.contents = Recent(CONTENT_SECONDS, MAX_KEPT, self.clock)
        self.pending = Recent(PENDING_SECONDS, MAX_KEPT, self.clock)
        self.downloads = Recent(DOWNLOAD_LIFETIME_SECONDS / 4, MAX_KEPT, self.clock)

    @property
    def facts(self) -> FactSource:
        """Indexed Hub state."""
        return FactSource.of(self.engine, self.config.chain, self.clock)

    def has_read(self, *constants: str) -> bool:
        """Whether constants of the deployment (``hub``, ``beacon``) are known, so that nobody is asked for them."""
        return set(constants) <= vars(self).keys()

    @cached_property
    def head_rpc(self) -> Rpc:
        """The chain, for its newest block in the midst of a request."""
        return self.rpc.bounded(seconds=CALL_SECONDS, max_answer_bytes=MAX_ANSWER_BYTES)

    @cached_property
    def callers(self) -> Callers:
        """Who calls, and how much each may use."""
        budgets = Budgets(self.clock, self.limits_redis)
        config = self.config
        return Callers(budgets, config.budgets, config.web.forwarded_hops, config.at_once.requests)

    @property
    def authority(self) -> Authority:
        """The scope that signatures to this deployment must name."""
        chain = self.config.chain
        domain = SigningDomain(chain.chain_id, chain.hub_address)
        return Authority(domain, self.config.web.public_host)

    @cached_property
    def hub(self) -> HubConstants:
        """The Hub's immutables."""
        return read_agreed_constants(self.rpc, self.config.chain.hub_address, self.config.chain.chain_id)

    @cached_property
    def beacon(self) -> BeaconInfo:
        """The beacon that opens Submissions; 503 while no relay can describe it."""
        try:
            return beacon_info(self.config.beacon, self.relays)
        except SealedDataError as error:
            raise ServiceError(
                "bounty_chain_state_unavailable", "The beacon cannot be reached at the moment."
            ) from error


def make_dependencies(config: ApiConfig, *, application: str = "api", pool_size: int = 20) -> Dependencies:
    """The real ones."""
    clock = SystemClock()
    engine = make_engine(config.database_url, application=application, pool_size=pool_size)
    return Dependencies(
        config=config,
        engine=engine,
        redis=connect(config.redis_url),
        review_redis=connect(config.redis_url, answer_seconds=REVIEW_STEP_SECONDS + ANSWER_SECONDS),
        limits_redis=connect(config.redis_url, retries=0),
        store=GcsStore(config.storage),
        rpc=config.chain.rpc(),
        http=TimelyHttp(FORWARDED_SECONDS, maxsize=32, timeout=urllib3.Timeout(connect=2.0, read=15.0)),
        clock=clock,
    )


def attach(app: Flask, dependencies: Dependencies) -> None:
    """Make them reachable from the routes of ``app``."""
    app.extensions[EXTENSION] = dependencies


def dependencies() -> Dependencies:
    """Those of the app that answers this request."""
    return cast("Dependencies", current_app.extensions[EXTENSION])
