"""At most one job of an id at a time, on a real server; what ended, failed or died makes room for the next."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from threading import Barrier, Semaphore
from typing import Any

import pytest
from bounty_protocol.errors import ServiceError
from redis import Redis
from redis.exceptions import LockError
from rq.executions import Execution
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import INDEX_UNAVAILABLE
from service_common.jobs import once
from service_common.jobs.once import (
    SIGN_SECONDS,
    count_heard,
    enqueue_once,
    find_pending,
    give_sign,
    keep_heard,
    remove_ended,
)
from service_common.jobs.periodic import Periodic, enqueue_due, keep_enqueuing, left_to_the_next
from service_common.jobs.queues import QueueName, message, open_queue
from service_common.jobs.worker import _CorrelatedWorker

ID = "verify-1"


def enqueue(redis: Redis) -> bool:
    return enqueue_once(redis, QueueName.ARTIFACTS, "somewhere.job", message(), ID, seconds=60)


def job_of(redis: Redis) -> Job:
    return Job.fetch(ID, connection=redis, serializer=JSONSerializer)


def test_job__waiting__is_not_enqueued_again(redis: Redis) -> None:
    assert find_pending(redis, ID) is None
    assert [enqueue(redis) for _ in range(3)] == [True, False, False]
    assert open_queue(QueueName.ARTIFACTS, redis).job_ids == [ID]
    assert find_pending(redis, ID) is not None


@pytest.mark.parametrize("several_queues", [False, True])
def test_job__that_a_dead_connection_took__is_enqueued_anew(
    redis: Redis, monkeypatch: pytest.MonkeyPatch, several_queues: bool
) -> None:
    """A worker of one queue moves a job to a list of what was taken, one of several only takes it."""
    queue = open_queue(QueueName.ARTIFACTS, redis)
    enqueue(redis)
    redis.lpop(queue.key) if several_queues else redis.lmove(queue.key, queue.intermediate_queue_key)
    assert [enqueue(redis), enqueue(redis)] == [False, False]  # its worker is about to begin it
    queue.intermediate_queue.set_first_seen(ID)
    monkeypatch.setattr(once, "TAKING_SECONDS", 0)
    assert find_pending(redis, ID) is None
    assert [enqueue(redis), enqueue(redis)] == [True, False]
    assert queue.job_ids == [ID]
    assert queue.intermediate_queue.get_job_ids() == []
    assert queue.intermediate_queue.get_first_seen(ID) is None


def test_job__whose_worker_is_slow_to_begin_it__waits_while_there_is_a_sign(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueue(redis)
    redis.lpop(open_queue(QueueName.ARTIFACTS, redis).key)
    monkeypatch.setattr(once, "TAKING_SECONDS", 0)
    give_sign(redis, ID)
    assert find_pending(redis, ID) is not None
    assert not enqueue(redis)
    assert find_pending(redis, ID, timedelta(0)) is None  # of one who knows that no worker can be at it


@pytest.mark.parametrize("status", [JobStatus.FAILED, JobStatus.FINISHED, JobStatus.STOPPED, JobStatus.CANCELED])
def test_job__ended_in_any_way__is_enqueued_anew(redis: Redis, status: JobStatus) -> None:
    enqueue(redis)
    job_of(redis).set_status(status)
    assert find_pending(redis, ID) is None
    assert enqueue(redis)
    assert open_queue(QueueName.ARTIFACTS, redis).job_ids == [ID]


@pytest.mark.parametrize("status", [JobStatus.FAILED, JobStatus.FINISHED])
def test_job__ended_and_looked_at_by_many_at_once__is_enqueued_by_one(redis: Redis, status: JobStatus) -> None:
    for _ in range(20):
        redis.flushall()
        enqueue(redis)
        job_of(redis).set_status(status)
        start = Barrier(8)

        def ask(start: Barrier = start) -> bool:
            start.wait()
            return enqueue(redis)

        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(ask) for _ in range(8)]
        assert [each.result() for each in asked].count(True) == 1
        assert open_queue(QueueName.ARTIFACTS, redis).job_ids == [ID]


def test_job__removed_while_it_is_looked_at__is_not_pending(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    enqueue(redis)
    fetch = Job.fetch

    def fetched_and_gone(*args: Any, **kwargs: Any) -> Job:
        job: Job = fetch(*args, **kwargs)
        job.delete()
        return job

    monkeypatch.setattr(Job, "fetch", fetched_and_gone)
    assert find_pending(redis, ID) is None
    remove_ended(redis, ID)


@pytest.mark.parametrize(("silent", "pending"), [(1, True), (60, False), (-1, True), (-300, False)])
def test_job__at_work__is_pending_until_its_worker_is_not_heard(redis: Redis, silent: int, pending: bool) -> None:
    """The last is dead, and its machine's clock was ahead: for as long it would count as alive."""
    enqueue(redis)
    job = job_of(redis)
    job.set_status(JobStatus.STARTED)
    job.last_heartbeat = datetime.now(UTC) - timedelta(seconds=silent)
    job.save()
    assert (find_pending(redis, ID) is not None) is pending
    assert find_pending(redis, ID, timedelta(0)) is None


def test_job__whose_execution_expired_with_its_worker__is_enqueued_anew(redis: Redis) -> None:
    enqueue(redis)
    job, queue = job_of(redis), open_queue(QueueName.ARTIFACTS, redis)
    queue.remove(ID)
    job.set_status(JobStatus.STARTED)
    with redis.pipeline() as pipeline:
        lost = Execution.create(job, ttl=60, pipeline=pipeline)
        pipeline.execute()
    redis.delete(lost.key)
    assert enqueue(redis)
    assert queue.job_ids == [ID]
    assert redis.zcard(queue.started_job_registry.key) == 0


@pytest.mark.parametrize("minutes", [-5, 5])
def test_job__at_work_on_a_machine_whose_clock_is_off__is_pending_as_long_as_it_is_heard(
    redis: Redis, minutes: int
) -> None:
    enqueue(redis)
    job = job_of(redis)
    job.set_status(JobStatus.STARTED)
    job.last_heartbeat = datetime.now(UTC) + timedelta(minutes=minutes)
    job.save()
    give_sign(redis, ID)
    assert 0 < int(str(redis.ttl(f"at-work:{ID}"))) <= SIGN_SECONDS
    assert find_pending(redis, ID) is not None
    assert not enqueue(redis)
    assert find_pending(redis, ID, timedelta(0)) is None


@pytest.mark.parametrize(("heard", "status"), [(True, JobStatus.STARTED), (False, JobStatus.FAILED)])
def test_job__at_work_on_a_machine_whose_clock_is_behind__is_abandoned_only_where_it_is_not_heard(
    redis: Redis, heard: bool, status: JobStatus
) -> None:
    enqueue(redis)
    queue, job = open_queue(QueueName.ARTIFACTS, redis), job_of(redis)
    queue.remove(ID)
    job.set_status(JobStatus.STARTED)
    redis.zadd(queue.started_job_registry.key, {f"{ID}:execution": datetime.now(UTC).timestamp() - 240})
    if heard:
        give_sign(redis, ID)
    worker = _CorrelatedWorker([queue], connection=redis, serializer=JSONSerializer)
    worker.clean_registries()  # type: ignore[no-untyped-call]
    assert job_of(redis).get_status() is status


@pytest.mark.parametrize("left", [None, JobStatus.QUEUED, JobStatus.FAILED])
def test_failure__of_a_job_that_the_server_lost_or_that_waits_again__is_not_kept(
    redis: Redis, left: JobStatus | None
) -> None:
    queue = open_queue(QueueName.ARTIFACTS, redis)
    enqueue(redis)
    job = job_of(redis)
    queue.failed_job_registry.add(job)  # by a worker that had it from before
    redis.delete(job.key) if left is None else job.set_status(left)
    worker = _CorrelatedWorker([queue], connection=redis, serializer=JSONSerializer)
    worker.clean_registries()  # type: ignore[no-untyped-call]
    assert queue.failed_job_registry.get_job_ids() == ([ID] if left is JobStatus.FAILED else [])


def test_failure__of_a_run_that_outlived_its_server__is_gone_with_the_next_run(redis: Redis) -> None:
    queue = open_queue(QueueName.ARTIFACTS, redis)
    enqueue(redis)
    queue.failed_job_registry.add(job_of(redis))
    redis.delete(Job.key_for(ID))
    redis.hset(Job.key_for(ID), "last_heartbeat", "2026-01-01T00:00:00.000000Z")  # its last sign of life
    redis.delete(queue.key)
    assert enqueue(redis)
    assert queue.job_ids == [ID]
    assert queue.failed_job_registry.get_job_ids() == []


@pytest.mark.parametrize(
    "error",
    [
        DatabaseUnavailable(),
        ServiceError(INDEX_UNAVAILABLE, "There is no index yet."),
        ServiceError("storage_unavailable", ""),
    ],
)
def test_periodic_run__without_index_or_database__is_left_to_the_next_and_other_failures_are_seen(
    error: Exception,
) -> None:
    @left_to_the_next
    def job(_: Mapping[str, object]) -> int:
        raise error

    if isinstance(error, ServiceError) and error.code != INDEX_UNAVAILABLE:
        with pytest.raises(ServiceError):
            job(message())
    else:
        assert job(message()) == 0


def test_periodic_job__by_several_workers__is_enqueued_once_in_its_interval(redis: Redis) -> None:
    jobs = [Periodic(QueueName.ARTIFACTS, "somewhere.sweep", every_seconds=3_600, run_seconds=60)]
    assert [enqueue_due(jobs, redis) for _ in range(3)] == [["somewhere.sweep"], [], []]
    redis.delete(*redis.scan_iter("lease:*"))  # the next interval, the first run still waiting
    assert enqueue_due(jobs, redis) == []
    assert len(open_queue(QueueName.ARTIFACTS, redis).job_ids) == 1


@pytest.mark.attack
@pytest.mark.parametrize("ends", [None, 10**6])
def test_lease__that_nobody_took__keeps_no_job_from_its_turn(redis: Redis, ends: int | None) -> None:
    jobs = [Periodic(QueueName.ARTIFACTS, "somewhere.sweep", every_seconds=3_600, run_seconds=60)]
    redis.set(f"lease:{jobs[0].job_id}", 1, ex=ends)
    assert [enqueue_due(jobs, redis) for _ in range(2)] == [["somewhere.sweep"], []]


@pytest.mark.attack
@pytest.mark.parametrize("ends", [None, 10**6])
def test_turn__that_nobody_took__keeps_no_job_from_being_enqueued(
    redis: Redis, ends: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "TURN_SECONDS", 1.0)
    redis.set(f"enqueuing:{ID}", 1, ex=ends)
    with suppress(LockError):  # it may take the time of a whole turn
        enqueue(redis)
    assert enqueue(redis) or find_pending(redis, ID) is not None


@pytest.mark.attack
@pytest.mark.parametrize("ends", [None, 10**6])
def test_sign_of_life__that_no_worker_gave__keeps_no_lost_job(redis: Redis, ends: int | None) -> None:
    enqueue(redis)
    job_of(redis).set_status(JobStatus.STARTED)
    redis.set(f"at-work:{ID}", 1, ex=ends)
    assert enqueue(redis)


@pytest.mark.attack
@pytest.mark.parametrize("ends", [None, 10**6])
def test_time_of_being_taken__that_nobody_noted__keeps_no_lost_job(redis: Redis, ends: int | None) -> None:
    enqueue(redis)
    redis.lpop(open_queue(QueueName.ARTIFACTS, redis).key)
    redis.set(f"taken:{ID}:{job_of(redis).enqueued_at}", 1, ex=ends)
    assert enqueue(redis)


@pytest.mark.attack
@pytest.mark.parametrize("status", [JobStatus.SCHEDULED, JobStatus.DEFERRED])
def test_job__that_waits_for_what_nobody_does__is_enqueued_anew(redis: Redis, status: JobStatus) -> None:
    enqueue(redis)
    job_of(redis).set_status(status)
    assert enqueue(redis)


@pytest.mark.attack
@pytest.mark.parametrize("field", ["status", "timeout", "data", "created_at", "origin"])
def test_job__that_cannot_be_read__is_enqueued_anew(redis: Redis, field: str) -> None:
    enqueue(redis)
    redis.hset(Job.key_for(ID), field, "odd")
    assert enqueue(redis)
    assert job_of(redis).func_name == "somewhere.job"


@pytest.mark.attack
def test_result__that_cannot_be_read__keeps_no_failed_job(redis: Redis) -> None:
    enqueue(redis)
    job_of(redis).set_status(JobStatus.FAILED)
    redis.xadd(f"rq:results:{ID}", {"exc_string": "no zlib"})
    assert enqueue(redis)


@pytest.mark.attack
def test_started_jobs__with_an_entry_that_is_no_text__are_still_counted(redis: Redis) -> None:
    started = open_queue(QueueName.ARTIFACTS, redis).started_job_registry
    redis.zadd(started.key, {b"\xff\xfe:1": 1, b"mine:1": 2})
    give_sign(redis, "mine")
    keep_heard(started)
    assert count_heard(started) == 1


def test_jobs__that_cannot_be_enqueued_once__are_looked_at_again() -> None:
    looked, keys = Semaphore(0), iter([b"\xff", b"\xfe"])

    def enqueue() -> None:
        next(keys, b"text").decode()
        looked.release()

    keep_enqueuing(enqueue, 0.05)
    assert looked.acquire(timeout=5)
