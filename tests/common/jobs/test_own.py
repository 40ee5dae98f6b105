"""A worker has its service's Secrets: whoever can write to Redis has it call nothing but its own jobs."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import pytest
from redis import Redis
from rq import Callback, Repeat, Retry
from rq.command import PUBSUB_CHANNEL_TEMPLATE
from rq.job import Job, JobStatus
from rq.suspension import suspend
from service_common.jobs.metrics import Tally
from service_common.jobs.queues import QueueName, message, open_queue
from service_common.jobs.worker import make_worker

HERE: Final = __name__


def work(received: Mapping[str, object]) -> None:
    """A job of this module's."""
    if "fails" in received:
        raise ValueError("it fails")


def touch(job: Job, _: Redis, *__: object) -> None:
    """A callback that a job may name."""
    Path(str(job.meta["file"])).touch()


def _hidden(_: object) -> None:
    """Not for a queue."""


def worked(redis: Redis, function: str, *arguments: object, **options: object) -> Job:
    """A job that a worker has had."""
    queue = open_queue(QueueName.ARTIFACTS, redis)
    job = queue.enqueue(function, *arguments, **options)
    work_off(redis)
    return job


def work_off(redis: Redis, jobs: int | None = None) -> None:
    """All that waits, or so many jobs, done by a worker that has this module's functions."""
    worker = make_worker([QueueName.ARTIFACTS], redis, Tally(()), module=HERE)
    worker.work(burst=True, logging_level="CRITICAL", max_jobs=jobs)


def test_job__of_the_workers_own_module__is_done(redis: Redis) -> None:
    assert worked(redis, f"{HERE}.work", message()).get_status(refresh=True) is JobStatus.FINISHED


@pytest.mark.attack
@pytest.mark.parametrize(
    "function",
    [
        "subprocess.check_call",
        "os.system",
        f"{HERE}.Path",
        f"{HERE}.open_queue",
        f"{HERE}._hidden",
        f"{HERE}.Path.touch",
        f"{HERE}.missing",
        "service_common.jobs.worker.isfunction",
    ],
)
def test_job__that_names_another_function__is_parked_and_does_nothing(
    redis: Redis, tmp_path: Path, function: str
) -> None:
    job = worked(redis, function, str(tmp_path / "touched"))
    assert job.get_status(refresh=True) is JobStatus.FAILED
    assert "ForeignJob" in job.latest_result().exc_string  # type: ignore[union-attr, operator]
    assert not list(tmp_path.iterdir())


@pytest.mark.attack
@pytest.mark.parametrize("fails", [{}, {"fails": 1}])
def test_job__with_callbacks__calls_none(redis: Redis, tmp_path: Path, fails: dict[str, object]) -> None:
    named = {"on_success": Callback(touch), "on_failure": Callback(touch), "meta": {"file": str(tmp_path / "touched")}}
    job = worked(redis, f"{HERE}.work", {**message(), **fails}, **named)
    assert job.get_status(refresh=True) is (JobStatus.FAILED if fails else JobStatus.FINISHED)
    assert not list(tmp_path.iterdir())


@pytest.mark.attack
def test_lost_job__with_a_callback__is_parked_and_calls_none(redis: Redis, tmp_path: Path) -> None:
    queue = open_queue(QueueName.ARTIFACTS, redis)
    meta = {"file": str(tmp_path / "touched")}
    job = Job.create(
        f"{HERE}.work",
        (message(),),
        connection=redis,
        serializer=queue.serializer,
        origin=queue.name,
        status=JobStatus.STARTED,
        on_failure=Callback(touch),
        meta=meta,
    )
    job.save()
    redis.zadd(queue.started_job_registry.key, {f"{job.id}:of-a-worker-that-is-gone": 1})
    work_off(redis)
    assert job.get_status(refresh=True) is JobStatus.FAILED
    assert not list(tmp_path.iterdir())


@pytest.mark.attack
@pytest.mark.parametrize(
    ("fails", "named"),
    [
        ({"fails": 1}, {"retry": Retry(10**6)}),
        ({"fails": 1}, {"retry": Retry(10**6, enqueue_at_front=True)}),
        ({}, {"repeat": Repeat(10**6)}),
    ],
)
def test_job__to_be_repeated_without_end__is_done_once(
    redis: Redis, fails: dict[str, object], named: dict[str, object]
) -> None:
    queue = open_queue(QueueName.ARTIFACTS, redis)
    queue.enqueue(f"{HERE}.work", {**message(), **fails}, **named)
    waits = queue.enqueue(f"{HERE}.work", message())
    work_off(redis, jobs=2)
    assert waits.get_status(refresh=True) is JobStatus.FINISHED
    assert not queue.job_ids


@pytest.mark.attack
def test_suspended_workers__go_on(redis: Redis) -> None:
    suspend(redis)
    assert worked(redis, f"{HERE}.work", message()).get_status(refresh=True) is JobStatus.FINISHED


@pytest.mark.attack
def test_command_to_a_worker__reaches_none(redis: Redis) -> None:
    worker = make_worker([QueueName.ARTIFACTS], redis, Tally(()), module=HERE)
    worker.bootstrap(logging_level="CRITICAL")
    for command in ("shutdown", "kill-horse", "stop-job"):
        assert redis.publish(PUBSUB_CHANNEL_TEMPLATE % worker.name, json.dumps({"command": command})) == 0
    worker.teardown()  # type: ignore[no-untyped-call]


ODD: Final[Mapping[str, Callable[[Redis, str, Job], object]]] = {
    "no name": lambda redis, started, _: redis.zadd(started, {b"\xff": 1}),
    "no job": lambda redis, started, job: [redis.hset(job.key, "timeout", "long"), redis.zadd(started, {job.id: 1})],
    "no groups": lambda redis, *_: redis.set("rq:groups", "none"),
}


@pytest.mark.attack
@pytest.mark.parametrize("odd", ODD)
def test_lost_jobs__that_cannot_be_read__keep_no_other_from_its_turn(redis: Redis, odd: str) -> None:
    queue = open_queue(QueueName.ARTIFACTS, redis)
    lost = Job.create(f"{HERE}.work", connection=redis, serializer=queue.serializer, origin=queue.name)
    lost.save()
    ODD[odd](redis, queue.started_job_registry.key, lost)
    waits = queue.enqueue(f"{HERE}.work", message())
    work_off(redis)
    assert waits.get_status(refresh=True) is JobStatus.FINISHED


def test_sign_of_life__that_comes_after_the_jobs_end__fails_no_later_job_of_that_id(redis: Redis) -> None:
    """A job that is followed by one of the same id, as those that go on for long are: its worker writes each five
    seconds that it lives, and it may just have ended."""
    worker = make_worker([QueueName.ARTIFACTS], redis, Tally(()), module=HERE)
    worker.bootstrap(logging_level="CRITICAL")
    queue = open_queue(QueueName.ARTIFACTS, redis)
    job = queue.enqueue(f"{HERE}.work", message(), job_id="goes-on", result_ttl=0)
    worker.prepare_execution(job)
    queue.remove(job)
    job.delete()
    worker.maintain_heartbeats(job)
    following = queue.enqueue(f"{HERE}.work", message(), job_id="goes-on", result_ttl=0)
    work_off(redis)
    assert not Job.exists(following.id, connection=redis)
    assert queue.failed_job_registry.count == 0
    assert not redis.keys("rq:execution*goes-on*")
