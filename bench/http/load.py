"""Load on an HTTP server from one process: prepared requests over keep-alive connections, at full or at a given rate.

The client is deliberately small, but it shares the machine's cores with the server, as its reference does.
"""

import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

FAILED = 599
"""Counted for a request whose connection ended without an answer."""
PATIENCE_SECONDS = 10.0
"""How long a server may leave bytes unread."""


@dataclass(slots=True)
class Load:
    """The result of a run: answers by status, and the seconds each took."""

    seconds: float
    statuses: dict[int, int] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    """Which of the requests each latency is of, by its place among them."""
    sent: int = 0

    @property
    def rate(self) -> float:
        return sum(self.statuses.values()) / self.seconds

    def quantile(self, part: float) -> float:
        """Return a latency in seconds."""
        return quantile(self.latencies, part)


def quantile(values: Sequence[float], part: float) -> float:
    """Return the value that this part of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def get(target: str, *lines: str) -> bytes:
    """Return a GET as it goes over the wire, with further header lines."""
    return "\r\n".join((f"GET {target} HTTP/1.1", "Host: a", *lines, "", "")).encode()


def post(
    target: str, body: bytes, *lines: str, media_type: str = "application/json", length: int | None = None
) -> bytes:
    """Return a POST, likewise; ``length`` where more is announced than is sent."""
    length = len(body) if length is None else length
    head = get(target, *lines, f"Content-Type: {media_type}", f"Content-Length: {length}")
    return head.replace(b"GET", b"POST", 1) + body


class _Closed(Exception):
    """The server ended a connection, as it may while there is no request."""


class _Connection:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.sent_at = 0.0
        self.number = 0
        self.waits = False

    def send(self, request: bytes, number: int, at: float) -> None:
        self.sent_at, self.number, self.waits = at, number, True
        with suppress(OSError):  # the server closed it, perhaps with an answer that is there to be read
            self.socket.sendall(request)

    def status(self) -> int | None:
        """Return the answer's status once it is there whole."""
        try:
            piece = self.socket.recv(1 << 18)
        except OSError as error:
            raise _Closed from error
        if not piece:
            raise _Closed
        self.received += piece
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return None
        place = head.lower().find(b"content-length:")
        length = int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
        if len(body) < length:
            return None
        self.received, self.waits = b"", False
        return int(head[9:12])


def _renewed(
    selector: selectors.BaseSelector, key: selectors.SelectorKey, port: int, idle: list[_Connection], result: Load
) -> _Connection:
    """Return another connection in the place of one that the server ended; the request sent over it counts
    as failed.
    """
    fresh = _Connection(port)
    selector.unregister(key.fileobj)
    selector.register(fresh.socket, selectors.EVENT_READ, fresh)
    key.data.socket.close()
    if key.data.waits:
        result.statuses[FAILED] = result.statuses.get(FAILED, 0) + 1
    else:
        idle.remove(key.data)
    return fresh


def load(
    port: int,
    requests: Sequence[bytes],
    *,
    connections: int = 8,
    seconds: float | None = None,
    count: int | None = None,
    rate: float | None = None,
    waits: bool = True,
) -> Load:
    """Send ``requests`` in a loop for ``seconds`` or ``count`` answers; at most ``rate`` a second where given.

    With a rate, a request's latency counts from when it was due, so that a slow answer is not hidden by a late send.
    ``waits`` False: what is not answered when the time is over is left alone, as by a client that wants no answer.
    """
    selector = selectors.DefaultSelector()
    idle = [_Connection(port) for _ in range(connections)]
    for each in idle:
        selector.register(each.socket, selectors.EVENT_READ, each)
    result, sent, began = Load(0.0), 0, time.perf_counter()
    while True:
        now = time.perf_counter()
        over = (seconds is not None and now - began >= seconds) or (count is not None and sent >= count)
        if over and (len(idle) == connections or not waits):
            break
        while idle and not over:
            due = began + sent / rate if rate else now
            if due > now or (count is not None and sent >= count):
                break
            number = sent % len(requests)
            idle.pop().send(requests[number], number, due)
            sent += 1
        wait = max(0.0, began + sent / rate - time.perf_counter()) if rate and idle and not over else 0.5
        for key, _ in selector.select(wait):
            try:
                status = key.data.status()
            except _Closed:
                idle.append(_renewed(selector, key, port, idle, result))
                continue
            if status is not None:
                result.statuses[status] = result.statuses.get(status, 0) + 1
                result.latencies.append(time.perf_counter() - key.data.sent_at)
                result.answered.append(key.data.number)
                idle.append(key.data)
    result.seconds, result.sent = time.perf_counter() - began, sent
    for key in list(selector.get_map().values()):
        key.data.socket.close()
    return result


def rate(port: int, requests: Sequence[bytes], status: int = 200, *, connections: int = 8, seconds: float) -> float:
    """Return answers a second; each of them has this status."""
    seen = load(port, requests, connections=connections, seconds=seconds)
    assert set(seen.statuses) == {status}, seen.statuses
    return seen.rate
