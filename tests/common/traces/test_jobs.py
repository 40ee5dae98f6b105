"""Jobs as spans: of every queue, in the trace of their enqueuer, sent by children that end with them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from local_stack.valkey import ValkeyServer
from redis import Redis
from rq.job import Job, JobStatus
from rq.serializers import JSONSerializer
from service_common.jobs.queues import QueueName, message, open_queue

from tests.common.traces.worker import FAILING, JOB
from tests.fakes.collector import PASSWORD, Collector, Seen

TOP = Path(__file__).parents[3]
Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def start(collector: Collector, valkey_server: ValkeyServer, redis: Redis) -> Iterator[Start]:
    """Starts ``worker.py`` with a word; what still runs ends with the test."""
    running: list[subprocess.Popen[str]] = []

    def start(word: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            **collector.variables(),
            "SERVICE_REDIS_URL": valkey_server.url(),
            "PYTHONPATH": os.pathsep.join([str(TOP), str(TOP / "deploy/local")]),
        }
        command = [sys.executable, "-m", "tests.common.traces.worker", word]
        running.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=TOP))
        return running[-1]

    yield start
    for each in running:
        each.kill()
        each.communicate()


def wait_for_jobs(redis: Redis, name: QueueName) -> None:
    """Until the jobs of a queue have ended; of those that did not fail nothing is kept."""
    queue, ends = open_queue(name, redis), time.monotonic() + 60
    while queue.count or queue.started_job_registry.count or not queue.failed_job_registry.count:
        assert time.monotonic() < ends
        time.sleep(0.05)


def lines(worker: subprocess.Popen[str]) -> list[dict[str, object]]:
    """Ask it to end; what it logged."""
    worker.send_signal(signal.SIGTERM)
    _, text = worker.communicate(timeout=60)
    assert worker.returncode == 0, text
    assert PASSWORD not in text
    return [json.loads(line) for line in text.splitlines()]


def test_jobs__of_every_queue__are_spans_below_their_enqueuer(start: Start, collector: Collector, redis: Redis) -> None:
    assert start("enqueue").wait(30) == 0
    workers = [start(name.value) for name in QueueName]
    for name in QueueName:
        wait_for_jobs(redis, name)
    spans = collector.wait(lambda spans: sum(span.name == "one step" for span in spans) == len(QueueName))

    (root,) = [span for span in spans if span.name == "enqueuing"]
    by_id = {span.span: span for span in spans}
    for name in QueueName:
        sent = {span.span for span in spans if span.name == f"send {name}"}
        jobs = {str(span.attributes["code.function.name"]): span for span in spans if span.name == f"process {name}"}
        assert len(sent) == 3
        assert set(jobs) == {JOB, FAILING}  # the long one makes spans of its steps
        for job in jobs.values():
            assert (job.trace, job.kind, job.parent in sent) == (root.trace, "consumer", True)
        assert (jobs[JOB].failed, jobs[FAILING].failed) == (False, True)
        assert jobs[FAILING].attributes["error.type"] == "job_failed"
    asked = [by_id[span.parent].name for span in spans if span.name == "asked"]
    assert sorted(set(asked)) == sorted({"one step", *(f"process {name}" for name in QueueName)})
    assert not [span for span in spans if span.name == "looked"]
    assert all(span.parent == "" and span.trace != root.trace for span in spans if span.name == "one step")
    assert b"LEAKED" not in collector.received
    said = [line for worker in workers for line in lines(worker) if line["event"] == "working"]
    traced = {(line["correlation_id"], line["trace_id"]) for line in said}
    assert traced == {(f"{name}-work", root.trace) for name in QueueName}


def test_message__of_a_traced_job__is_what_it_was_and_the_trace_stands_beside_it(start: Start, redis: Redis) -> None:
    assert start("enqueue").wait(30) == 0
    job = Job.fetch("settle-work", connection=redis, serializer=JSONSerializer)
    assert list(job.args) == [message()]
    assert set(job.meta) == {"traceparent"}


@pytest.mark.parametrize("meta", [{}, {"traceparent": 7}, {"traceparent": "x" * 9_000}, {"other": "release"}])
def test_job__of_another_release_or_with_a_hostile_trace__is_done_in_a_trace_of_its_own(
    start: Start, collector: Collector, redis: Redis, meta: dict[str, object]
) -> None:
    open_queue(QueueName.SETTLE, redis).enqueue(JOB, message(), meta=meta, job_id="given")
    start(QueueName.SETTLE.value)

    def jobs(spans: list[Seen]) -> list[Seen]:
        return [span for span in spans if span.name == "process settle"]

    (job,) = jobs(collector.wait(lambda spans: bool(jobs(spans))))
    assert (job.parent, job.failed) == ("", False)
    assert Job.fetch("given", connection=redis, serializer=JSONSerializer).get_status() is JobStatus.FINISHED


@pytest.mark.parametrize("how", ["silent", "refusing"])
def test_collector__away__costs_spans_and_no_job(start: Start, collector: Collector, redis: Redis, how: str) -> None:
    assert start("enqueue").wait(30) == 0
    before = collector.wait(lambda spans: any(span.name == "enqueuing" for span in spans))
    if how == "silent":
        collector.held.set()
    collector.status = 503
    worker = start(QueueName.SETTLE.value)
    wait_for_jobs(redis, QueueName.SETTLE)
    said = [line for line in lines(worker) if "collector" in str(line["event"])]
    assert len(said) == 1  # by the worker and all its children together
    assert collector.spans() == before
