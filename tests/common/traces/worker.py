"""A worker and its enqueuer with traces, as processes of their own: what a test of jobs starts."""

import os
import sys

from service_common import log
from service_common.jobs.once import enqueue_once
from service_common.jobs.queues import QueueName, connect, message
from service_common.jobs.worker import run_worker
from service_common.traces import port as traces
from service_common.traces.settings import TraceSettings, parse_endpoint
from service_common.traces.setup import start_traces

JOB = "tests.common.traces.worker.work"
FAILING = "tests.common.traces.worker.fail"
LONG = "tests.common.traces.worker.follow"


def work(_: object) -> str:
    """A job that asks another server."""
    log.get_logger(__name__).info("working")
    with traces.client("asked", {"of.tests": True}):
        return "done"


def fail(_: object) -> None:
    """A job that fails with words that are nobody's business."""
    raise ValueError("LEAKED by a job")


def follow(_: object) -> None:
    """A job that goes on for long: three looks, of which one found something to do."""
    for number in range(3):
        with traces.client("looked", {}):
            pass
        if number == 1:
            with traces.step("one step", {"number": number}), traces.client("asked", {"of.tests": True}):
                pass


def enqueue(url: str) -> None:
    """A job of each kind in every queue, inside one span."""
    redis = connect(url)
    with traces.step("enqueuing", {}):
        for name in QueueName:
            for function in (JOB, FAILING, LONG):
                job_id = f"{name}-{function.rpartition('.')[2]}"
                assert enqueue_once(redis, name, function, message(), job_id, seconds=30)
                assert not enqueue_once(redis, name, function, message(), job_id, seconds=30)


if __name__ == "__main__":
    log.configure("tests", 20)
    start_traces("tests", TraceSettings(parse_endpoint(os.environ["SERVICE_OTLP_ENDPOINT"])))
    redis_url = os.environ["SERVICE_REDIS_URL"]
    if sys.argv[1] == "enqueue":
        enqueue(redis_url)
    else:
        run_worker(
            [QueueName(sys.argv[1])],
            connect(redis_url, answer_seconds=None),
            module="tests.common.traces.worker",
            in_steps={LONG},
        )
