"""Forwarding a request to an inner service byte for byte.

Method, path, query, body and the wallet's own Authorization go through unchanged; beside them goes only the correlation
id. The inner service verifies the request itself and trusts nothing that the forwarder adds. Its answer comes back with
its status, and counts as an outcome there; no answer is 503 ``delivery_unavailable``.
"""

from typing import Final

import urllib3
from bounty_protocol.errors import ServiceError
from bounty_protocol.timely import AnswerRefused, TimelyHttp
from flask import Request, Response
from service_common.log import correlation_id, get_logger
from service_common.places import Places
from service_common.web.callers import Callers
from service_common.web.error_budget import excuse

MAX_READS: Final = 8
"""Public reads that one process has answered at a time: a thread waits for each."""
MAX_READS_OF_NETWORK: Final = 2
_PASSED: Final = ("Authorization", "Content-Type")
_RETURNED: Final = ("Content-Type", "Retry-After", "Cache-Control", "Allow", "WWW-Authenticate")
_MAX_ANSWER: Final = 64 * 1024

log = get_logger(__name__)


class Forwarder:
    """Forwards requests to one inner service. Thread-safe."""

    def __init__(self, http: TimelyHttp, origin: str, callers: Callers) -> None:
        self._http, self._origin, self._callers = http, origin, callers
        self._places = Places()

    def read(self, request: Request) -> Response:
        """Forward a public read. One network can wait for only a few slow answers of an inner service at a time."""
        refusal = ServiceError("delivery_unavailable", "The delivery service cannot accept more reads at the moment.")
        with (
            self._callers.place("forwarded-reads", MAX_READS_OF_NETWORK, 1.0),
            self._places.hold("reads", MAX_READS, refusal=refusal),
        ):
            return self.forward(request, b"")

    def forward(self, request: Request, body: bytes) -> Response:
        """Return the inner service's answer."""
        headers = {name: request.headers[name] for name in _PASSED if name in request.headers}
        headers["X-Correlation-Id"] = correlation_id.get()
        query = request.query_string.decode("latin-1")
        url = self._origin + request.path + (f"?{query}" if query else "")
        try:
            answer = self._http.exchange(request.method, url, most_bytes=_MAX_ANSWER, body=body, headers=headers)
        except AnswerRefused as error:
            raise ServiceError("delivery_unavailable", "The delivery service gave no usable answer.") from error
        except urllib3.exceptions.HTTPError as error:
            log.warning("inner service unavailable", exc_info=error)
            raise ServiceError(
                "delivery_unavailable", "The delivery service cannot be reached at the moment."
            ) from error
        excuse(request.environ)
        response = Response(answer.body, status=answer.status)
        for name in _RETURNED:
            if name in answer.headers:
                response.headers[name] = answer.headers[name]
        return response
