"""A job as a span in the trace that it was enqueued in.

Promises: where traces are off nothing is done; where they are on, the forked child sends the span before it ends; a
job that goes on for long is none, its steps are.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from rq.exceptions import DeserializationError
from rq.job import Job

from service_common.traces import port as traces
from service_common.traces.setup import in_forked_child


@contextmanager
def job_span(job: Job, queue: str, in_steps: Collection[str]) -> Iterator[Callable[[bool], None]]:
    """Around one job in its own process; yields what to call with how it ended.

    ``in_steps`` are functions whose jobs make spans of their steps by themselves.
    """
    if traces.used.tracer is None:
        yield _not_traced
        return
    with in_forked_child():
        function = _function(job)
        if function in in_steps:
            yield _not_traced
            return
        with traces.consumer(f"process {queue}", _attributes(job, queue, function), _carrier(job)) as span:

            def ended(done: bool) -> None:
                if not done:  # RQ has kept the exception, and its words
                    span.note({"error.type": "job_failed"})
                    span.fail()

            yield ended


def _not_traced(_done: bool) -> None:
    """Nothing."""


def _function(job: Job) -> str:
    try:
        return str(job.func_name)
    except DeserializationError:
        return "unreadable"  # RQ says so when it performs the job


def _attributes(job: Job, queue: str, function: str) -> dict[str, str]:
    return {
        "messaging.system": "rq",
        "messaging.destination.name": queue,
        "messaging.message.id": job.id,
        "code.function.name": function,
        "service.correlation_id": job.id,
    }


def _carrier(job: Job) -> dict[str, str]:
    """The trace the job was enqueued in, if its enqueuer was in one."""
    traceparent = job.meta.get("traceparent")
    return {"traceparent": traceparent} if isinstance(traceparent, str) else {}
