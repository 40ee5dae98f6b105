"""What the indexer tells the api's worker: that facts of some blocks became final.

The message names blocks and no fact: the worker reads the facts itself. One that is lost changes nothing, since a
periodic job of the worker looks for the same; so it is sent once, in little time, and its failure is only counted.
"""

from typing import Final

from bounty_protocol.types import BlockNumber
from redis import Redis
from redis.exceptions import RedisError

from service_common.counters import counter_by
from service_common.jobs import JobKind, QueueName, connect, message, open_queue

KEEP_FINAL: Final = JobKind(QueueName.ARTIFACTS, "service_api.jobs.keep_final", run_seconds=600, waiting_seconds=600)
SEND_SECONDS: Final = 0.05
"""For each of the few answers that sending takes: together less than 200 ms."""
_SENT: Final = counter_by(
    "outcome", ("sent", "failed"), "service_final_messages_total", "Messages to the api's worker of what became final"
)


def connect_to_tell(url: str) -> Redis:
    """Connect to Redis for messages that may be lost."""
    return connect(url, connect_seconds=SEND_SECONDS, answer_seconds=SEND_SECONDS, retries=0)


def tell_final(redis: Redis, first: BlockNumber, last: BlockNumber) -> bool:
    """Tell the api's worker that the facts of these blocks are final; return whether it was sent."""
    argument = message(first_block=first, last_block=last)
    try:
        open_queue(KEEP_FINAL.queue, redis).enqueue(
            KEEP_FINAL.function,
            argument,
            job_timeout=KEEP_FINAL.run_seconds,
            ttl=KEEP_FINAL.waiting_seconds,
            result_ttl=0,
            failure_ttl=KEEP_FINAL.run_seconds,
        )
    except RedisError:
        _SENT.labels("failed").inc()
        return False
    _SENT.labels("sent").inc()
    return True
