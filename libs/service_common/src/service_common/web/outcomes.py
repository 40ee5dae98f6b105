"""Which answers count against what is promised: a 5xx does, but not one that its own caller brings about.

Somebody who sends too much is refused with 503, and so is everybody while an upload is hashed. Were they failures of
the service, anybody could wake whoever is on call; were they successes, anybody could drown an outage in them.
"""

from functools import cache
from typing import Final
from wsgiref.types import WSGIEnvironment

from prometheus_client import Counter

from service_common.counters import counter_by

OUTCOMES: Final = counter_by(
    "result",
    ("answered", "failed"),
    "service_http_outcomes_total",
    "Answers, `failed` with 5xx; without the 503 of a caller who sends too much or waits for an upload to be hashed",
)
EXCUSED: Final = frozenset({"pending_storage_full", "storage_verification_pending"})
"""503 of what strangers fill, which has an alert of its own, and the ordinary answer while an upload is hashed."""
_IS_EXCUSED: Final = "service.excused"


def excuse(environ: WSGIEnvironment) -> None:
    """Note that this request's 503 is no failure of the service."""
    environ[_IS_EXCUSED] = True


def count_outcome(environ: WSGIEnvironment, status: str) -> None:
    """Count the answer to a request, where it counts."""
    if _IS_EXCUSED not in environ:
        _counter("failed" if status >= "500" else "answered").inc()


@cache
def _counter(result: str) -> Counter:
    return OUTCOMES.labels(result)
