"""What a few KB in Redis inflate to is bounded: no reader of a job gets more memory than its own messages take."""

import tracemalloc
import zlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from redis import Redis
from rq.exceptions import NoSuchJobError, StopRequested
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.timeouts import JobTimeoutException
from service_common.jobs.queues import QueueName, message, open_queue
from service_common.jobs.stored import INFLATED_BYTES, StoredJob, inflate

ID = "verify-1"
BOMB = zlib.compress(bytes(256 * 1024 * 1024))


@pytest.fixture
def stored(redis: Redis) -> Job:
    """A job that waits."""
    open_queue(QueueName.ARTIFACTS, redis).enqueue("somewhere.job", message(page="x" * 350_000), job_id=ID)
    return fetched(redis)


def fetched(redis: Redis) -> Job:
    return StoredJob.fetch(ID, connection=redis, serializer=JSONSerializer)


def test_job__as_it_was_enqueued__is_read(stored: Job) -> None:
    assert stored.func_name == "somewhere.job"
    assert stored.args == [message(page="x" * 350_000)]


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("signalled", [StopRequested, JobTimeoutException])
def test_job__during_whose_reading_a_signal_comes__is_not_called_unreadable(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, signalled: type[Exception]
) -> None:
    """A worker that was to end went on."""

    def restore(*_: object) -> None:
        raise signalled

    monkeypatch.setattr(Job, "restore", restore)
    with pytest.raises(signalled):
        fetched(redis)


@contextmanager
def little_memory() -> Iterator[None]:
    """What is done in it takes a few MB at most."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 8 * INFLATED_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.attack(f"bytes that a job's message or traceback in Redis inflates to: {INFLATED_BYTES:,}")
def test_message__that_inflates_without_end__is_no_job(redis: Redis, stored: Job) -> None:
    redis.hset(stored.key, "data", BOMB)
    with little_memory(), pytest.raises(NoSuchJobError):
        fetched(redis)
    redis.hset(stored.key, "data", zlib.compress(BOMB))
    with little_memory():
        assert fetched(redis).data == BOMB


@pytest.mark.attack
def test_traceback__that_inflates_without_end__is_refused(redis: Redis, stored: Job) -> None:
    redis.xadd(f"rq:results:{ID}", {"type": 2, "exc_string": b64encode(BOMB)})
    with little_memory(), pytest.raises(ValueError, match="more than"):
        stored.latest_result()


def test_inflating__as_much_as_there_may_be__and_a_byte_more() -> None:
    assert len(inflate(zlib.compress(bytes(INFLATED_BYTES)))) == INFLATED_BYTES
    with pytest.raises(ValueError, match="more than"):
        inflate(zlib.compress(bytes(INFLATED_BYTES + 1)))
