"""Ending connections whose request does not come to its end.

The HTTP server bounds the time of a request's header and not of its body, and gives the app no means to end one. The
kernel counts for each connection what came and what was answered (``TCP_INFO``): one on which something came, and
nothing was answered, for longer than any request takes, is shut down, and the thread that waits for its body continues.
So is one whose request still comes after a grace, and has come more slowly than anyone's network would have it: one
that waits for its answer sends nothing. Where the kernel does not report it (only Linux does), nothing is ended.

Slow connections may have taken every file descriptor: what looks at them has its own already, and needs no other.
"""

import os
import resource
import socket
import stat
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Final

from prometheus_client import Counter

from service_common.log import get_logger

REQUEST_SECONDS: Final = 60.0
"""Longer than a request takes that waits for nobody's review."""
GRACE_SECONDS: Final = 10.0
LEAST_BYTES_A_SECOND: Final = 500
"""Of a request that is still coming after the grace, since it was first seen."""
LOOK_SECONDS: Final = 5.0
ENDED: Final = Counter(
    "service_slow_connections_total",
    "Connections ended because a request was not there, or not answered, within a minute",
)
_OPEN_FILES: Final = Path("/proc/self/fd")
_TCP_INFO_BYTES: Final = 136
_LAST_SENT, _LAST_RECEIVED, _BYTES_ACKED, _BYTES_RECEIVED = 44, 52, 120, 128
"""Where ``struct tcp_info`` has them: two in milliseconds ago, two in bytes."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Account:
    """The kernel's counters of one connection."""

    is_unanswered: bool
    answered_bytes: int
    received_bytes: int


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A connection that waits for an answer: since when at least, and what was counted then and at the last look."""

    since: float
    first: _Account
    last: _Account

    def is_slow(self, now: float, account: _Account) -> bool:
        """Whether its request is still coming after the grace, and came too slowly."""
        seconds = now - self.since
        is_coming = account.received_bytes > self.last.received_bytes
        received = account.received_bytes - self.first.received_bytes
        return is_coming and seconds >= GRACE_SECONDS and received < LEAST_BYTES_A_SECOND * seconds


class SlowConnections:
    """The connections of one listening port of this process, checked repeatedly."""

    def __init__(self, port: int, seconds: float = REQUEST_SECONDS) -> None:
        self._port, self._seconds = port, seconds
        self._place, self._is_exhausted = _Place(), False
        self._waiting: dict[object, _Waiting] = {}
        """By peer: those that waited for an answer at the last look."""

    def end(self, now: float) -> int:
        """Shut down those that have waited too long by now, or send too slowly; how many."""
        waiting, ended = dict[object, _Waiting](), 0
        for peer, connection in self._connections():
            account = _account(connection)
            if account is None or not account.is_unanswered:
                continue
            found = self._waiting.get(peer)
            if found is None or found.first.answered_bytes != account.answered_bytes:
                found = _Waiting(now, account, account)
            if now - found.since >= self._seconds or found.is_slow(now, account):
                ended += _shut_down(connection)
            else:
                waiting[peer] = replace(found, last=account)
        self._waiting = waiting
        return ended

    def _connections(self) -> Iterator[tuple[object, socket.socket]]:
        """This process's accepted connections, each a duplicate for this turn: the original may close meanwhile."""
        for number in self._open_files():
            with suppress(OSError):  # closed since it was listed; it listens, or is connected no more
                if not stat.S_ISSOCK(os.fstat(number).st_mode):
                    continue
                with self._place.duplicate(number) as connection:
                    of_internet = connection.family in {socket.AF_INET, socket.AF_INET6}
                    if of_internet and connection.getsockname()[1] == self._port:
                        yield connection.getpeername(), connection

    def _open_files(self) -> Sequence[int]:
        try:
            numbers = [int(file.name) for file in _OPEN_FILES.iterdir()]
        except OSError as error:  # no descriptor is free to read the list with: then any number may be one
            if not self._is_exhausted:
                log.warning("no file descriptor is free", reason=error.strerror)
            self._is_exhausted = True
            return range(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self._is_exhausted = False
        return numbers


class _Place:
    """A descriptor held for duplicates, one at a time: they can be made when no other is free."""

    def __init__(self) -> None:
        self._empty = os.open(os.devnull, os.O_RDONLY)
        self._number = os.dup(self._empty)

    def __del__(self) -> None:
        os.close(self._number)
        os.close(self._empty)

    @contextmanager
    def duplicate(self, number: int) -> Iterator[socket.socket]:
        """The socket with this number, for the length of the block; ``OSError`` where there is none."""
        os.dup2(number, self._number, inheritable=False)
        try:
            connection = socket.socket(fileno=self._number)
            try:
                yield connection
            finally:
                connection.detach()
        finally:
            os.dup2(self._empty, self._number, inheritable=False)


def end_slow_connections(port: int, seconds: float = REQUEST_SECONDS) -> None:
    """From now on, in a thread that ends with the process."""
    if hasattr(socket, "TCP_INFO") and _OPEN_FILES.is_dir():
        Thread(target=_watch, args=(SlowConnections(port, seconds),), daemon=True, name="slow-connections").start()


def _watch(connections: SlowConnections) -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        if ended := connections.end(time.monotonic()):
            ENDED.inc(ended)
            log.warning("slow connections ended", count=ended)


def _account(connection: socket.socket) -> _Account | None:
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return None
    if len(info) < _TCP_INFO_BYTES:
        return None
    (sent,), (received,) = (struct.unpack_from("=I", info, place) for place in (_LAST_SENT, _LAST_RECEIVED))
    (acked,), (came,) = (struct.unpack_from("=Q", info, place) for place in (_BYTES_ACKED, _BYTES_RECEIVED))
    return _Account(came > 0 and (received < sent or acked == 0), acked, came)


def _shut_down(connection: socket.socket) -> bool:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it ended on its own
        return False
    return True
