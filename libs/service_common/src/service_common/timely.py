"""HTTP connections whose answers are there in time, head and body, or count as none.

urllib3 bounds how long each single wait for bytes takes: an answer of which a byte comes now and then would be waited
for without end. Here the time of a whole answer is bounded, too, at no cost to those that come fast: by seconds, or for
a file of any length by seconds and a rate that it keeps from then on.
"""

import time
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection


def timely_pools(answer_seconds: float, *, least_rate: int | None = None, **options: Any) -> urllib3.PoolManager:
    """A ``PoolManager`` with these options; an answer that takes longer than ``answer_seconds`` since its request was
    sent is a ``ReadTimeoutError``, wherever it is read. With ``least_rate`` each so many bytes are another second."""

    class Answer(HTTPResponse):
        def __init__(self, sock: socket, *arguments: Any, **named: Any) -> None:
            super().__init__(sock, *arguments, **named)
            received = _Received(sock, self.fp.detach(), time.monotonic() + answer_seconds, least_rate)
            self.fp = BufferedReader(received)

    class Plain(HTTPConnection):
        response_class = Answer

    class Secure(HTTPSConnection):
        response_class = Answer

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Secure

    pools = urllib3.PoolManager(**options)
    pools.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}
    return pools


class _Received(RawIOBase):
    """What a connection receives until a moment, which what comes at the least rate puts off; then ``TimeoutError``."""

    def __init__(self, connection: socket, received: RawIOBase, ends: float, least_rate: int | None) -> None:
        self._connection, self._received, self._ends, self._rate = connection, received, ends, least_rate
        self._patience = connection.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer takes too long")
        self._connection.settimeout(left if self._patience is None else min(left, self._patience))
        count = self._received.readinto(buffer)
        if self._rate is not None and count:
            self._ends += count / self._rate
        return count

    def close(self) -> None:
        self._received.close()
        super().close()
