"""HTTP to the model's endpoint, bounded whatever it answers: the SDK reads a refusal to its end, and decodes it."""

from collections.abc import Iterator
from typing import Final

import httpx2
from bounty_protocol.clock import Clock

MAX_ANSWER_BYTES: Final = 1024 * 1024


class BoundedTransport(httpx2.HTTPTransport):
    """Ends an answer that is encoded, is longer than ``MAX_ANSWER_BYTES``, or is not there by ``ends`` of the clock."""

    def __init__(self, clock: Clock, ends: float) -> None:
        # A kept connection may be closed by the time the second request goes out.
        super().__init__(limits=httpx2.Limits(max_keepalive_connections=0))
        self._clock, self._ends = clock, ends

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer, whose body is read within the bounds."""
        response = super().handle_request(request)
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            response.close()
            raise httpx2.DecodingError("an encoding that was not asked for", request=request)
        body = response.stream
        if not isinstance(body, httpx2.SyncByteStream):
            raise TypeError("a synchronous transport answers a synchronous stream")
        response.stream = _BoundedBody(body, self._clock, self._ends, request)
        return response


class _BoundedBody(httpx2.SyncByteStream):
    def __init__(self, body: httpx2.SyncByteStream, clock: Clock, ends: float, request: httpx2.Request) -> None:
        self._body, self._clock, self._ends, self._request = body, clock, ends, request

    def __iter__(self) -> Iterator[bytes]:
        received = 0
        for chunk in self._body:
            received += len(chunk)
            if self._clock.monotonic() > self._ends:
                raise httpx2.ReadTimeout("the answer takes too long", request=self._request)
            yield chunk
            if received > MAX_ANSWER_BYTES:
                raise httpx2.ReadError("the answer is too long", request=self._request)

    def close(self) -> None:
        self._body.close()
