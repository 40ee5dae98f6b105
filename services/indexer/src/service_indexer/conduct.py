"""How the follower's RPC endpoints behave, shown to what scrapes the worker.

Endpoints are named by their place in the configuration, never by address; nothing is shown of a follower that gives no
more sign of life. The report is carried by Redis, since a job runs in a process of its own and ends with it. What
jobs count for longer than they run is kept by the endpoint itself: its place becomes another's when one is taken out.
"""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from hashlib import sha256
from typing import Final, cast

from bounty_protocol.chain.endpoints import Endpoints
from bounty_protocol.types import ChainId
from bounty_protocol.wire.reading import read
from redis import Redis
from redis.exceptions import RedisError
from service_common.kept_numbers import kept_number

CONDUCT_SECONDS: Final = 60
_MOST: Final = 2**53
"""No count, nor a number of blocks, is more than a figure can show."""


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
            [each.place, each is endpoints.preferred, each.unanswered, each.lag, each.contradictions]
            for each in endpoints.all
        ]
    )


def read_conduct(redis: Redis, chain_id: ChainId, urls: Sequence[str] = ()) -> list[EndpointConduct]:
    """The follower's last report; empty when there is none, or Redis does not answer. With the endpoints' ``urls``, in
    order, their contradictions include those of jobs that ended."""
    try:
        kept = redis.get(conduct_key(chain_id))
        counted = cast("dict[bytes, bytes]", redis.hgetall(_noted_key(chain_id)))
    except RedisError:
        return []
    noted = {place: counted.get(_fingerprint(url).encode()) for place, url in enumerate(urls, 1)}
    return [
        replace(each, contradictions=each.contradictions + (kept_number(noted.get(each.place), _MOST) or 0))
        for each in _parsed(kept)
    ]


def _parsed(kept: object) -> list[EndpointConduct]:
    """What was kept; nothing where it is no report: whoever can write to Redis keeps no follower from its start."""
    names = [each.name for each in fields(EndpointConduct)]
    try:
        rows = [dict(zip(names, each, strict=True)) for each in json.loads(cast("bytes", kept))]
        found = read(tuple[EndpointConduct, ...], rows)
    except (TypeError, ValueError, RecursionError):
        return []
    return [each for each in found if each.place > 0 and all(0 <= number <= _MOST for number in astuple(each))]


def take_over(redis: Redis, chain_id: ChainId, endpoints: Endpoints) -> None:
    """Go on counting the failures in a row where the follower before this one ended: one that hangs fails too rarely
    to be heard of in the time of one follower. The first answer ends a row. The first one that answered last is queried
    first."""
    for each in read_conduct(redis, chain_id):
        if each.place <= len(endpoints.all):
            endpoint = endpoints.all[each.place - 1]
            endpoint.failures = endpoint.unanswered = each.failures
    if answering := [each for each in endpoints.all if not each.failures]:
        endpoints.succeeded(answering[0], prefer=True)


def note_contradictions(redis: Redis, chain_id: ChainId, endpoints: Endpoints) -> None:
    """Count what a job that ends met, for as long as Redis keeps it."""
    for each in endpoints.all:
        if each.contradictions:
            redis.hincrby(_noted_key(chain_id), _fingerprint(each.url), each.contradictions)


def hand_over(redis: Redis, chain_id: ChainId, endpoints: Endpoints) -> None:
    """Note what a follower that ends met itself, and take it out of its report: its successor begins with none, and a
    figure that falls is taken for one that began anew."""
    with redis.pipeline() as together:
        note_contradictions(together, chain_id, endpoints)
        for each in endpoints.all:
            each.contradictions = 0
        together.set(conduct_key(chain_id), conduct_of(endpoints), ex=CONDUCT_SECONDS)
        together.execute()


def _noted_key(chain_id: ChainId) -> str:
    return f"contradictions:by-endpoint:{chain_id}"


def _fingerprint(url: str) -> str:
    """Which endpoint it is, without its address, which may hold a key."""
    return sha256(url.encode()).hexdigest()[:16]
