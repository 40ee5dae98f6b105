"""One attempt to hand a message to a receiver that may be anything: slow, endless, hostile, somebody else's.

An attempt takes a bounded time, counted from its beginning over everything but the lookup of the name (which the
resolver bounds), and reads a few KiB. The connection goes to a machine that was checked, TLS to the name that was
registered; no redirect is followed, no proxy of the environment is used, and a connection serves one message.
"""

import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.client import HTTPConnection, HTTPException, HTTPResponse
from io import BytesIO
from typing import Final, cast

from service_api.webhooks.receivers import (
    IpAddress,
    Lookup,
    NotPublic,
    Receiver,
    ReceiverRules,
    machines_of,
)

MAX_ANSWER_BYTES: Final = 8_192
_PIECE: Final = 4_096
_GONE: Final = 410
Dial = Callable[[tuple[str, int], float], socket.socket]
"""``socket.create_connection``: opens a connection to an address and a port, in so many seconds."""


class Result(StrEnum):
    """How an attempt ended."""

    DELIVERED = "delivered"
    UNRESOLVABLE = "unresolvable"
    NOT_PUBLIC = "not_public"
    UNREACHABLE = "unreachable"
    TLS_FAILED = "tls_failed"
    TIMED_OUT = "timed_out"
    NO_ANSWER = "no_answer"
    REDIRECTED = "redirected"
    REFUSED = "refused"
    GONE = "gone"
    WRONG_CHALLENGE = "wrong_challenge"
    UNSENDABLE = "unsendable"
    """The message could not be made: its secret does not open."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt: how it ended, the status of the answer, and the seconds it took."""

    result: Result
    status: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request. ``challenge`` is what the answer has to repeat, where it has to."""

    body: bytes = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)
    challenge: str | None = field(default=None, repr=False)


class _TimedOut(Exception):
    pass


class Sender:
    """Sends messages for one process. Thread-safe."""

    def __init__(
        self,
        rules: ReceiverRules,
        *,
        lookup: Lookup = socket.getaddrinfo,
        dial: Dial = socket.create_connection,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._rules, self._lookup, self._dial = rules, lookup, dial
        self._tls = tls or ssl.create_default_context()

    def send(self, receiver: Receiver, outgoing: Outgoing, seconds: float) -> Outcome:
        """Try once, for at most ``seconds`` beside the lookup of the name; never raises for what a receiver does."""
        begun = time.monotonic()
        try:
            machines = machines_of(receiver, self._rules, self._lookup)
        except NotPublic:
            return Outcome(Result.NOT_PUBLIC, None, time.monotonic() - begun)
        except (OSError, UnicodeError):
            return Outcome(Result.UNRESOLVABLE, None, time.monotonic() - begun)
        result, status = self._exchange(receiver, machines, outgoing, time.monotonic() + seconds)
        return Outcome(result, status, time.monotonic() - begun)

    def _exchange(
        self, receiver: Receiver, machines: list[IpAddress], outgoing: Outgoing, ends: float
    ) -> tuple[Result, int | None]:
        try:
            with self._connect(receiver, machines, ends) as connection:
                return _judge(_request(connection, receiver, outgoing, ends), outgoing.challenge)
        except (_TimedOut, TimeoutError):
            return Result.TIMED_OUT, None
        except ssl.SSLError:
            return Result.TLS_FAILED, None
        except (HTTPException, ValueError):
            return Result.NO_ANSWER, None
        except OSError:
            return Result.UNREACHABLE, None

    def _connect(self, receiver: Receiver, machines: list[IpAddress], ends: float) -> socket.socket:
        """A connection to the first of the machines that takes one."""
        for place, machine in enumerate(machines):
            try:
                # The others get their turn within the same time.
                connection = self._dial((str(machine), receiver.port), _left(ends) / (len(machines) - place))
                break
            except OSError:
                if place == len(machines) - 1:
                    raise
        if not receiver.secure:
            return connection
        try:
            connection.settimeout(_left(ends))
            return self._tls.wrap_socket(connection, server_hostname=receiver.host)
        except BaseException:
            connection.close()
            raise


class _Bounded:
    """A connection whose every write is within what is left of the attempt's time."""

    def __init__(self, connection: socket.socket, ends: float) -> None:
        self._connection, self._ends = connection, ends

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._connection.settimeout(_left(self._ends))
            view = view[self._connection.send(view[:_PIECE]) :]

    def close(self) -> None:
        """Its subscriber closes it."""


class _Received:
    """Bytes that were read, for the parser of the standard library."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: object) -> BytesIO:
        return BytesIO(self._data)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes


def _request(connection: socket.socket, receiver: Receiver, outgoing: Outgoing, ends: float) -> _Answer:
    http = HTTPConnection(receiver.host, receiver.port)
    http.sock = cast("socket.socket", _Bounded(connection, ends))  # it only writes there
    fields = {
        "Host": receiver.host_field,
        "User-Agent": "bounty-escrow-webhooks",
        "Content-Type": "application/json",
        "Connection": "close",
        **outgoing.fields,
    }
    with suppress(BrokenPipeError, ConnectionResetError):  # what refuses without reading all of it may have answered
        http.request("POST", receiver.target, outgoing.body, fields)
    received = b""
    while True:
        connection.settimeout(_left(ends))
        piece = connection.recv(_PIECE)
        received += piece
        answer = _parse(received, whole=outgoing.challenge is not None, ended=not piece)
        if answer is not None:
            return answer
        if not piece or len(received) >= MAX_ANSWER_BYTES:
            raise HTTPException


def _parse(received: bytes, *, whole: bool, ended: bool) -> _Answer | None:
    """The answer, once its head is there, or with ``whole`` all of it."""
    if b"\r\n\r\n" not in received and b"\n\n" not in received:
        return None
    response = HTTPResponse(cast("socket.socket", _Received(received)), method="POST")
    response.begin()
    if not whole:
        return _Answer(response.status, b"")
    if response.length is None and not response.chunked and not ended:
        return None  # its end is the end of the connection
    try:
        return _Answer(response.status, response.read())
    except HTTPException:
        if ended:
            raise
        return None


def _judge(answer: _Answer, challenge: str | None) -> tuple[Result, int]:
    status = answer.status
    if status == _GONE:
        return Result.GONE, status
    if 300 <= status < 400:
        return Result.REDIRECTED, status
    if not 200 <= status < 300:
        return Result.REFUSED, status
    if challenge is not None and not _repeats(answer.body, challenge):
        return Result.WRONG_CHALLENGE, status
    return Result.DELIVERED, status


def _repeats(body: bytes, challenge: str) -> bool:
    try:
        answered = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(answered, dict) and answered.get("challenge") == challenge


def _left(ends: float) -> float:
    seconds = ends - time.monotonic()
    if seconds <= 0:
        raise _TimedOut
    return seconds
