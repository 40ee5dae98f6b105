"""The time of the chain's newest block, as the follower of the index was shown it last; Redis carries it."""

from typing import Final

from bounty_protocol.types import ChainId, UnixSeconds
from redis import Redis
from redis.exceptions import RedisError

from service_common.kept_numbers import kept_number

KEPT_SECONDS: Final = 60
"""For how long it is shown of a follower that gives no more sign of life."""
MOST_SECONDS: Final = 10**12 - 1
"""What is later is nobody's time."""


def newest_key(chain_id: ChainId) -> str:
    """Where it is kept."""
    return f"newest:follow:{chain_id}"


def write_newest(redis: Redis, chain_id: ChainId, time: UnixSeconds) -> None:
    """Note the time of the newest block that an endpoint has just shown; raises ``RedisError``."""
    redis.set(newest_key(chain_id), time, ex=KEPT_SECONDS)


def read_newest(redis: Redis, chain_id: ChainId) -> UnixSeconds | None:
    """The time of the newest block that the follower was shown within the last minute or so; None where it was none."""
    try:
        kept = redis.get(newest_key(chain_id))
    except RedisError:
        return None
    time = kept_number(kept, MOST_SECONDS)
    return None if time is None else UnixSeconds(time)
