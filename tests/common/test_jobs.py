"""Jobs over a real Valkey and PostgreSQL: at most one of an id runs, and none is blocked by what a lost one left."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest
from local_stack import valkey
from local_stack.process import Child, minimal_environment
from local_stack.runtime import Runtime, running
from redis import Redis
from redis.exceptions import ReadOnlyError
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer
from service_common.jobs import (
    JobKind,
    Message,
    Periodic,
    QueueName,
    begin_due,
    check_redis,
    connect,
    enqueue,
    is_pending,
    is_running,
    locked,
    make_worker,
    message,
    open_queue,
    run_worker,
    wait_for_result,
)
from sqlalchemy import Engine

from tests.raw_server import raw_server, whole
from tests.servers import Database
from tests.waiting import wait_until

HERE: Final = __name__
QUEUE: Final = QueueName.ARTIFACTS
WORK: Final = JobKind(QUEUE, f"{HERE}.work", run_seconds=60)
ID: Final = "the-job"


def work(received: Message) -> object:
    """Append a line to a file, wait for another one, fail, or answer, as the message says."""
    if isinstance(path := received.get("notes"), str):
        with Path(path).open("a") as notes:
            notes.write("began\n")
        while not Path(path + ".released").exists():
            time.sleep(0.02)
        with Path(path).open("a") as notes:
            notes.write("ended\n")
    if received.get("fails"):
        raise ValueError("it fails")
    return received.get("answer")


def hang(_: Message) -> None:
    """Never end."""
    while True:
        time.sleep(0.1)


CALLED: Final[list[object]] = []


def called(*arguments: object) -> None:
    """Note that somebody called this function, which no worker has."""
    CALLED.append(arguments)


FUNCTIONS: Final = (work, hang)
PERIODIC: Final = Periodic(WORK, every_seconds=3_600)


@pytest.fixture
def engine(database: Database) -> Engine:
    return database.engine("service_api")


def run_all(redis: Redis, engine: Engine, periodic: tuple[Periodic, ...] = ()) -> None:
    """Run what waits in the queue, in this process."""
    worker = make_worker(QUEUE, redis, engine, FUNCTIONS, periodic)
    worker.work(burst=True, logging_level="CRITICAL")


def status(redis: Redis, job_id: str = ID) -> JobStatus | None:
    job = Job.fetch(job_id, connection=redis, serializer=JSONSerializer)
    return job.get_status()


def waiting(redis: Redis) -> list[str]:
    return open_queue(QUEUE, redis).job_ids


def begins(redis: Redis) -> None:
    """Let the seconds pass in which a job that left its queue takes its lock."""
    redis.delete(f"begins:{ID}")


# One job of an id


def test_waiting_job_is_enqueued_once(redis: Redis, engine: Engine) -> None:
    assert not is_pending(redis, engine, WORK, ID)
    assert [enqueue(redis, engine, WORK, ID, message()) for _ in range(3)] == [True, False, False]
    begins(redis)
    assert not enqueue(redis, engine, WORK, ID, message())
    assert waiting(redis) == [ID]
    assert is_pending(redis, engine, WORK, ID)


def test_job_just_taken_is_not_enqueued_again(redis: Redis, engine: Engine) -> None:
    """Its worker is about to take the lock; one that was killed in that moment is missed a little later."""
    enqueue(redis, engine, WORK, ID, message())
    queue = open_queue(QUEUE, redis)
    redis.lmove(queue.key, queue.intermediate_queue_key)
    assert not enqueue(redis, engine, WORK, ID, message())
    queue.intermediate_queue.set_first_seen(ID)
    begins(redis)
    assert enqueue(redis, engine, WORK, ID, message())
    assert queue.intermediate_queue.get_job_ids() == []
    assert queue.intermediate_queue.get_first_seen(ID) is None


def test_lock_held_elsewhere_blocks_the_job(redis: Redis, engine: Engine, tmp_path: Path) -> None:
    enqueue(redis, engine, WORK, ID, message(notes=str(tmp_path / "notes")))
    begins(redis)
    with locked(engine, ID) as held:
        assert held
        assert is_running(engine, ID)
        run_all(redis, engine)  # the worker meets the lock, and runs nothing
        assert not enqueue(redis, engine, WORK, ID, message())
    assert not (tmp_path / "notes").exists()
    assert not is_running(engine, ID)
    assert enqueue(redis, engine, WORK, ID, message())


@pytest.mark.parametrize("state", [JobStatus.STARTED, JobStatus.FAILED, JobStatus.FINISHED, JobStatus.CANCELED])
def test_lost_job_of_any_state_blocks_no_other(redis: Redis, engine: Engine, state: JobStatus) -> None:
    enqueue(redis, engine, WORK, ID, message())
    redis.delete(open_queue(QUEUE, redis).key)
    Job.fetch(ID, connection=redis, serializer=JSONSerializer).set_status(state)
    begins(redis)
    assert enqueue(redis, engine, WORK, ID, message())
    assert (waiting(redis), status(redis)) == ([ID], JobStatus.QUEUED)


def test_failed_job_blocks_no_other_and_is_forgotten(redis: Redis, engine: Engine) -> None:
    enqueue(redis, engine, WORK, ID, message(fails=1))
    run_all(redis, engine)
    assert status(redis) is JobStatus.FAILED
    assert 0 < redis.ttl(Job.key_for(ID)) <= 60
    registry = open_queue(QUEUE, redis).failed_job_registry
    assert registry.get_job_ids() == [ID]
    assert enqueue(redis, engine, WORK, ID, message())
    assert registry.get_job_ids() == []
    run_all(redis, engine)
    assert not redis.exists(Job.key_for(ID))


def test_result_is_waited_for_and_then_replaced(redis: Redis, engine: Engine) -> None:
    kind = JobKind(QUEUE, f"{HERE}.work", run_seconds=60, kept_seconds=300)
    enqueue(redis, engine, kind, ID, message(answer="yes"))
    assert wait_for_result(redis, ID, 0) is None
    run_all(redis, engine)
    result = wait_for_result(redis, ID, 1)
    assert result is not None
    assert result.return_value == "yes"
    assert enqueue(redis, engine, kind, ID, message())
    assert wait_for_result(redis, ID, 0) is None


def test_lock_of_a_lost_session_is_free(database: Database, engine: Engine) -> None:
    """As after a failover: the block goes on, and another process may take the lock."""
    with locked(engine, ID) as held:
        assert held
        with psycopg.connect(database.server.url(database.name)) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        wait_until(lambda: not is_running(database.engine("service_indexer"), ID))
    with locked(engine, ID) as again:
        assert again


# What a worker runs


@pytest.mark.parametrize("function", ["os.system", f"{HERE}.begins", f"{HERE}.Path.touch", f"{HERE}.missing"])
def test_foreign_function_is_not_called(redis: Redis, engine: Engine, tmp_path: Path, function: str) -> None:
    job = open_queue(QUEUE, redis).enqueue(function, str(tmp_path / "touched"), job_id=ID)
    run_all(redis, engine)
    assert job.get_status(refresh=True) is JobStatus.FAILED
    result = wait_for_result(redis, ID, 1)
    assert result is not None
    assert "ForeignJob" in str(result.exc_string)


@pytest.mark.parametrize(
    "data", [b"\x80\x04K\x01.", b"{", b'"text"', json.dumps([f"{HERE}.work", None, ["text"], {}]).encode(),
             json.dumps([f"{HERE}.work", None, [{"version": 99}], {}]).encode(),
             json.dumps([f"{HERE}.work", None, [{"version": 1}, 2], {}]).encode()]
)  # fmt: skip
def test_poison_message_fails_alone(redis: Redis, engine: Engine, data: bytes, tmp_path: Path) -> None:
    """Pickle, broken JSON, no object, an unknown version, a second argument."""
    (tmp_path / "notes.released").touch()
    enqueue(redis, engine, WORK, ID, message())
    redis.hset(Job.key_for(ID), "data", data)
    enqueue(redis, engine, WORK, "the-next", message(notes=str(tmp_path / "notes")))
    run_all(redis, engine)
    assert redis.hget(Job.key_for(ID), "status") == b"failed"
    assert (tmp_path / "notes").read_text() == "began\nended\n"


@pytest.mark.parametrize("fails", [0, 1])
def test_job_calls_nothing_and_nobody_at_its_end(redis: Redis, engine: Engine, fails: int) -> None:
    """RQ would import and call what a job's hash names, send to its webhooks, and repeat it."""
    CALLED.clear()
    with raw_server(lambda: [whole(b"")]) as elsewhere:
        hooks = [{"url": elsewhere.url, "job_status": each, "method": "POST"} for each in ("finished", "failed")]
        added = {f"{each}_callback_name": f"{HERE}.called" for each in ("success", "failure", "stopped")}
        enqueue(redis, engine, WORK, ID, message(fails=fails))
        for name, value in {**added, "webhooks": json.dumps(hooks), "repeats_left": "1"}.items():
            redis.hset(Job.key_for(ID), name, value)
        run_all(redis, engine)
        assert elsewhere.connections == 0
    assert (CALLED, waiting(redis)) == ([], [])
    if fails:
        assert status(redis) is JobStatus.FAILED


def test_abandoned_job_calls_nothing(redis: Redis, engine: Engine) -> None:
    """A worker cleans up after one that was killed while it ran the job."""
    CALLED.clear()
    enqueue(redis, engine, WORK, ID, message())
    redis.hset(Job.key_for(ID), "failure_callback_name", f"{HERE}.called")
    queue = open_queue(QUEUE, redis)
    redis.delete(queue.key)
    redis.zadd(queue.started_job_registry.key, {f"{ID}:execution": 1})
    make_worker(QUEUE, redis, engine, FUNCTIONS).clean_registries()  # type: ignore[no-untyped-call]
    assert (CALLED, status(redis)) == ([], JobStatus.FAILED)


# Periodic jobs


def test_periodic_job_rests_after_it_ended_well(redis: Redis, engine: Engine) -> None:
    assert begin_due(redis, engine, [PERIODIC]) == [PERIODIC.job_id]
    assert begin_due(redis, engine, [PERIODIC]) == [], "it waits"
    run_all(redis, engine, (PERIODIC,))
    assert begin_due(redis, engine, [PERIODIC]) == [], "it rests"
    (key,) = redis.keys("rests:*")
    assert 3_500 < redis.ttl(key) <= 3_600
    redis.delete(key)
    assert begin_due(redis, engine, [PERIODIC]) == [PERIODIC.job_id]


def test_failed_periodic_job_begins_again_soon(redis: Redis, engine: Engine) -> None:
    failing = Periodic(JobKind(QUEUE, f"{HERE}.hang", run_seconds=1), every_seconds=3_600)
    begin_due(redis, engine, [failing])
    run_all(redis, engine, (failing,))
    (key,) = redis.keys("rests:*")
    assert 60 < redis.ttl(key) <= 150
    redis.delete(key)
    assert begin_due(redis, engine, [failing]) == [failing.job_id]


def test_job_with_nothing_to_do_is_not_begun(redis: Redis, engine: Engine) -> None:
    idle = Periodic(WORK, every_seconds=0, is_due=lambda: False)
    assert begin_due(redis, engine, [idle]) == []
    busy = Periodic(WORK, every_seconds=0)
    for _ in range(2):  # without an interval it does not rest
        assert begin_due(redis, engine, [busy]) == [busy.job_id]
        run_all(redis, engine, (busy,))


# A worker in a process of its own


class Working:
    """Workers in processes of their own over a Valkey of the test's own."""

    def __init__(self, runtime: Runtime, server: valkey.ValkeyServer, database: Database, notes: Path) -> None:
        self.runtime, self.server, self.database, self.notes = runtime, server, database, notes
        self.engine = database.engine("service_api")
        self.periodic = Periodic(WORK, every_seconds=0)

    def start(self) -> Child:
        """A worker that does the periodic job as often as it can."""
        return self.runtime.family.spawn(
            f"worker-{time.monotonic_ns()}",
            [Path(sys.executable), "-c", f"from {HERE} import main; main()"],
            environment=minimal_environment(self.runtime.logs)
            | {
                "PYTHONPATH": os.pathsep.join(sys.path),
                "URLS": json.dumps([self.server.url(), self.database.url("service_api")]),
                "NOTES": str(self.notes),
            },
            cwd=self.runtime.logs,
        )

    def begun(self) -> int:
        return self.lines("began")

    def lines(self, what: str) -> int:
        return self.notes.read_text().split().count(what) if self.notes.exists() else 0

    def release(self) -> None:
        Path(f"{self.notes}.released").touch()


def repeat(_: Message) -> None:
    """The periodic job of ``main``."""
    work({"notes": os.environ["NOTES"]})


def main() -> None:
    """A worker as the services run it."""
    redis_url, database_url = json.loads(os.environ["URLS"])
    kind = JobKind(QUEUE, f"{HERE}.repeat", run_seconds=600)
    run_worker(QUEUE, (redis_url, database_url), [repeat], [Periodic(kind, every_seconds=0)])


@pytest.fixture
def working(database: Database, tmp_path: Path) -> Iterator[Working]:
    with running() as runtime, valkey.start(runtime) as server:
        yield Working(runtime, server, database, tmp_path / "notes")


@pytest.mark.nightly
def test_killed_worker_is_replaced_within_seconds(working: Working) -> None:
    first = working.start()
    wait_until(lambda: working.begun() == 1)
    second = working.start()
    time.sleep(2)
    assert working.begun() == 1, "the lock keeps the second worker from the job"
    working.runtime.family.end([first], kill=True)
    wait_until(lambda: working.begun() == 2, 20)
    working.release()
    wait_until(lambda: working.lines("ended") > 3)
    assert second.exit_status() is None


def test_job_goes_on_while_redis_is_away(working: Working) -> None:
    worker = working.start()
    wait_until(lambda: working.begun() == 1)
    working.server.kill()
    working.release()
    wait_until(lambda: working.lines("ended") == 1)
    wait_until(lambda: worker.log_path.read_text().count("the worker starts again") > 2)
    working.server.restart(empty=True)
    wait_until(lambda: working.lines("ended") > 3)
    assert worker.exit_status() is None


def test_terminated_worker_finishes_its_job(working: Working) -> None:
    worker = working.start()
    wait_until(lambda: working.begun() == 1)
    worker.send(signal.SIGTERM)
    time.sleep(1)
    assert worker.exit_status() is None
    working.release()
    wait_until(lambda: worker.exit_status() is not None)
    assert (worker.exit_status(), working.begun(), working.lines("ended")) == (0, 1, 1)


def test_idle_worker_ends_at_once(working: Working, engine: Engine) -> None:
    with locked(engine, f"{HERE}.repeat".replace(".", "-").replace("_", "-")):
        worker = working.start()
        with connect(working.server.url()) as redis:
            wait_until(lambda: redis.info("clients")["blocked_clients"] == 1)
        worker.send(signal.SIGTERM)
        wait_until(lambda: worker.exit_status() is not None)
    assert (worker.exit_status(), working.begun()) == (0, 0)


@pytest.mark.parametrize("retries", [0, 1])
def test_pool_leaves_a_server_that_became_a_replica(working: Working, retries: int) -> None:
    """As after a failover: the name leads to the new server; the old one answers reads with what is old."""
    url = working.server.url()
    with connect(url, retries=retries) as redis, connect(url) as other:
        with redis.pipeline() as one, redis.pipeline() as two:
            one.watch("writable")
            two.watch("writable")
        assert len(other.client_list()) == 3
        other.execute_command("REPLICAOF", "127.0.0.1", "9")
        with pytest.raises(ReadOnlyError):
            redis.set("key", 1)
        wait_until(lambda: len(other.client_list()) == 1)
        other.execute_command("REPLICAOF", "NO", "ONE")
        check_redis(redis)
