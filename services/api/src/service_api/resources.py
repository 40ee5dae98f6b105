"""The connections of one process, made once. Only the app and the jobs have all of them: a use case gets what it names.

Making them opens no connection.
"""

from dataclasses import dataclass, field

import urllib3
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.clock import Clock, SystemClock
from bounty_protocol.crypto.beacon import HttpGet
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.timely import TimelyHttp
from redis import Redis
from service_common.db.engine import make_engine
from service_common.db.hub_facts import FactSource
from service_common.db.schema import check_schema
from service_common.internal_port import Check
from service_common.jobs import ANSWER_SECONDS, check_redis, connect
from sqlalchemy import Engine

from service_api.config import ApiConfig
from service_api.deployment.constants import Constants
from service_api.publishing.reviews import STEP_SECONDS
from service_api.storage.gcs import GcsStore
from service_api.submissions.ciphertexts import Ciphertexts

FORWARDED_SECONDS = 20.0
"""Seconds for a whole answer of another service of the deployment."""


@dataclass(frozen=True, slots=True)
class Resources:
    """The connections of one process. Thread-safe."""

    config: ApiConfig
    engine: Engine
    redis: Redis
    review_redis: Redis
    """For waiting on a review, which is silent for longer than anything else may be."""
    limits_redis: Redis
    """For counting requests, each once: a count whose answer came late is not made again."""
    store: GcsStore
    rpc: Rpc
    http: TimelyHttp
    clock: Clock
    relays: HttpGet = field(default_factory=Urllib3Get)
    """For asking relays of the beacon."""

    @property
    def facts(self) -> FactSource:
        """Indexed Hub state."""
        return FactSource.of(self.engine, self.config.chain, self.clock)

    def constants(self) -> Constants:
        """Return the deployment's constants, none of which is read yet."""
        return Constants(self.rpc, self.config.chain, self.config.beacon, self.relays)

    @property
    def ciphertexts(self) -> Ciphertexts:
        """The sealed work in the bucket."""
        return Ciphertexts(self.engine, self.store, self.redis)

    def close(self) -> None:
        """End the connections."""
        self.engine.dispose()
        for redis in (self.redis, self.review_redis, self.limits_redis):
            redis.close()
        self.http.clear()


def make_resources(config: ApiConfig, *, application: str = "api", pool_size: int = 20) -> Resources:
    """Make the real resources."""
    return Resources(
        config=config,
        engine=make_engine(config.database_url, application=application, pool_size=pool_size),
        redis=connect(config.redis_url),
        review_redis=connect(config.redis_url, answer_seconds=STEP_SECONDS + ANSWER_SECONDS),
        limits_redis=connect(config.redis_url, retries=0),
        store=GcsStore(config.storage),
        rpc=config.chain.rpc(),
        http=TimelyHttp(FORWARDED_SECONDS, maxsize=32, timeout=urllib3.Timeout(connect=2.0, read=15.0)),
        clock=SystemClock(),
    )


def readiness_checks(resources: Resources) -> dict[str, Check]:
    """Return the readiness checks of a process with all these connections."""
    return {
        "database": lambda: check_schema(resources.engine, "service_api"),
        "redis": lambda: check_redis(resources.redis),
        "chain": lambda: resources.config.chain.check(resources.rpc),
        "storage": resources.store.check,
    }
