"""Shedding: more requests at a time than this process can answer are refused at once instead of queueing.

Promises: whatever is over the limit gets 503 ``service_overloaded`` with Retry-After in the usual envelope, before
anything of the request is read; the liveness route is always answered, so that an overloaded process is not restarted.
"""

import json
import uuid
from collections.abc import Callable, Iterable
from threading import Semaphore
from typing import Final
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from service_common.errors import DEFAULT_RETRY_AFTER_SECONDS, ServiceError

MAX_IN_FLIGHT: Final = 120
_ALWAYS: Final = "/healthz"


class Shedding:
    """A WSGI application that passes at most ``limit`` requests at a time to ``inner``."""

    def __init__(self, inner: WSGIApplication, on_refused: Callable[[], None], limit: int = MAX_IN_FLIGHT) -> None:
        self._inner, self._on_refused = inner, on_refused
        self._places = Semaphore(limit)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ.get("PATH_INFO") == _ALWAYS:
            return self._inner(environ, start_response)
        if not self._places.acquire(blocking=False):
            self._on_refused()
            return _refuse(start_response)
        try:
            return self._inner(environ, start_response)
        finally:
            self._places.release()


def _refuse(start_response: StartResponse) -> Iterable[bytes]:
    error = ServiceError("service_overloaded", "This service answers as many requests as it can at the moment.")
    envelope = {"code": error.code, "message": error.message, "issues": [], "next_action": error.next_action}
    body = json.dumps({"error": envelope}).encode()
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Retry-After", str(DEFAULT_RETRY_AFTER_SECONDS)),
        ("Cache-Control", "no-store"),
        ("X-Correlation-Id", uuid.uuid4().hex),
        ("Access-Control-Allow-Origin", "*"),
        ("Access-Control-Expose-Headers", "ETag, Retry-After, X-Correlation-Id"),
    ]
    start_response("503 Service Unavailable", headers)
    return [body]
