"""How an attack is sent, in a separate process that ends on its own: at full rate, or a byte now and then."""

import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from bench.http.load import load

TICK_SECONDS: Final = 0.25
"""How often a slow body gets a byte, and how soon a connection that was ended is opened again."""


@dataclass(frozen=True, slots=True)
class Sending:
    """One attack: its requests, and over how many connections they come. ``slowly``: their bodies never end."""

    requests: Sequence[bytes]
    connections: int
    slowly: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of an attack: requests started in a second, and answers by status."""

    rate: float
    statuses: dict[int, int]


def send(sending: Sending, port: int, at: float, seconds: float, rate: float | None) -> Sent:
    """Attack ``port`` of this machine from the moment ``at`` (of ``time.monotonic``) for some seconds.

    At most ``rate`` requests a second where one is given; slow bodies have a rate of their own.
    """
    if (late := time.monotonic() - at) > 0:
        raise RuntimeError(f"an attack came {late:.1f} s too late")
    time.sleep(max(0.0, at - time.monotonic()))
    if sending.slowly:
        return _trickle(sending, port, seconds)
    seen = load(port, sending.requests, connections=sending.connections, seconds=seconds, rate=rate, waits=False)
    return Sent(seen.sent / seen.seconds, seen.statuses)


def _trickle(sending: Sending, port: int, seconds: float) -> Sent:
    """Keep the connections open with bodies that get a byte at each tick; one that is answered or ended is replaced."""
    began, started, statuses = time.monotonic(), 0, dict[int, int]()
    selector = selectors.DefaultSelector()
    while time.monotonic() - began < seconds:
        ends = time.monotonic() + TICK_SECONDS
        while len(selector.get_map()) < sending.connections:
            fresh = socket.create_connection(("127.0.0.1", port), timeout=5)
            fresh.sendall(sending.requests[started % len(sending.requests)])
            selector.register(fresh, selectors.EVENT_READ, fresh)
            started += 1
        for key in list(selector.get_map().values()):
            with suppress(OSError):  # it was ended, which the next lines notice
                key.data.send(b" ")
        while (left := ends - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                status = _status(key.data)
                statuses[status] = statuses.get(status, 0) + 1
                selector.unregister(key.data)
                key.data.close()
    for key in list(selector.get_map().values()):
        key.data.close()
    return Sent(started / seconds, statuses)


def _status(connection: socket.socket) -> int:
    """Of the answer that has come; 0 if the connection only ended."""
    try:
        answer = connection.recv(1 << 12)
    except OSError:
        return 0
    return int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0
