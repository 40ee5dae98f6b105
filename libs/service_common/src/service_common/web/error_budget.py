"""Which answers count against what is promised: a 5xx does, but not one that its own caller brings about.

Somebody who sends too much is refused with 503, and so is everybody while an upload is hashed. Were they failures of
the service, anybody could wake whoever is on call; were they successes, anybody could drown an outage in them. So they
count as neither, and so does an answer for which nothing was attempted: a kept read, or a refusal.
"""

from typing import Final
from wsgiref.types import WSGIEnvironment

from bounty_protocol.errors import ServiceError

from service_common.counters import counter_by

OUTCOMES: Final = counter_by(
    "result",
    ("answered", "failed"),
    "service_http_outcomes_total",
    "Answers to attempts, `failed` with 5xx; without cached reads, refusals, the 5xx of a caller who sends too much "
    "or must wait, and the 5xx of parts that the operator left out",
)
EXCUSED: Final = frozenset({"pending_storage_full", "storage_verification_pending", "orchestrator_unconfigured"})
"""503 of what strangers fill, which has an alert of its own; the ordinary answer while an upload is hashed; and what
the operator did not set up."""
REFUSED: Final = frozenset({"400", "401", "403", "405", "411", "413", "415", "429"})
"""Statuses of refusals: what was sent was not permitted, and anybody can send it by the thousand."""
_IS_EXCUSED: Final = "service.excused"
_IS_TOO_MUCH: Final = "service.too_much"


def excuse(environ: WSGIEnvironment) -> None:
    """Note that this request's answer is neither a failure of the service nor a success."""
    environ[_IS_EXCUSED] = True


def note_refusal(environ: WSGIEnvironment, error: ServiceError) -> None:
    """Note what a refusal says about the service and its caller."""
    if error.code in EXCUSED or not error.is_failure:
        excuse(environ)
    if error.status == 429 or (error.code == "service_overloaded" and not error.is_failure):
        environ[_IS_TOO_MUCH] = True


def is_too_much(environ: WSGIEnvironment) -> bool:
    """Return whether this request was refused since its caller sends too much."""
    return _IS_TOO_MUCH in environ


def count_outcome(environ: WSGIEnvironment, status: str, *, is_routed: bool) -> None:
    """Count the answer to a request, if it counts; ``is_routed`` means that a route of the framework gave it."""
    if _IS_EXCUSED in environ:
        return
    if status >= "500":
        OUTCOMES.labels("failed").inc()
    elif is_routed and status not in REFUSED and environ["REQUEST_METHOD"] != "OPTIONS":
        OUTCOMES.labels("answered").inc()
