"""How the follower's RPC endpoints behave, shown to what scrapes the worker.

Endpoints are named by their place in the configuration, never by address; nothing is shown of a follower that gives no
more sign of life. The report is carried by Redis, since a job runs in a process of its own and ends with it.
"""

import json
from dataclasses import dataclass
from typing import Final, cast

from bounty_protocol.chain.endpoints import Endpoints
from bounty_protocol.types import ChainId
from redis import Redis
from redis.exceptions import RedisError

CONDUCT_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class EndpointConduct:
    """One endpoint, as the follower saw it last."""

    place: int
    preferred: bool
    failures: int
    lag: int
    contradictions: int


def conduct_key(chain_id: ChainId) -> str:
    """Where it is kept."""
    return f"endpoints:follow:{chain_id}"


def conduct_of(endpoints: Endpoints) -> str:
    """The kept values."""
    return json.dumps(
        [
            [each.place, each is endpoints.preferred, each.failures, each.lag, each.contradictions]
            for each in endpoints.all
        ]
    )


def read_conduct(redis: Redis, chain_id: ChainId) -> list[EndpointConduct]:
    """The follower's last report; empty when there is none, or Redis does not answer."""
    try:
        kept = redis.get(conduct_key(chain_id))
        counted = cast("dict[bytes, bytes]", redis.hgetall(_noted_key(chain_id)))
        noted = {int(place): int(count) for place, count in counted.items()}
    except RedisError:
        return []
    if not isinstance(kept, bytes | str):
        return []
    return [
        EndpointConduct(place, preferred, failures, lag, contradictions + noted.get(place, 0))
        for place, preferred, failures, lag, contradictions in json.loads(kept)
    ]


def note_contradictions(redis: Redis, chain_id: ChainId, endpoints: Endpoints) -> None:
    """Count what a job that ends met, for as long as Redis keeps it."""
    for each in endpoints.all:
        if each.contradictions:
            redis.hincrby(_noted_key(chain_id), str(each.place), each.contradictions)


def _noted_key(chain_id: ChainId) -> str:
    return f"contradictions:{chain_id}"
