"""One attempt to hand a message to a receiver that may be anything: slow, endless, hostile, somebody else's.

An attempt takes a bounded time, reads a bounded number of bytes off the connection, TLS and its handshake included, and
uses a bounded share of a processor for them. TLS is over memory, so that no record that it handles on its own keeps it
from these bounds; h11 parses what is within. The connection goes to a machine that was checked, TLS to the name that
was registered; no redirect is followed, no proxy of the environment is used, and a connection serves one message.
"""

import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Final, Protocol, TypeVar

import h11

from service_api.webhooks.names import LOOKUP_SECONDS, Lookup, NameLookups
from service_api.webhooks.receivers import IpAddress, Receiver, ReceiverRules, machines_of

MAX_ANSWER_BYTES: Final = 8_192
"""Of an answer's head, and of its body."""
WIRE_BYTES: Final = 64 * 1_024
"""Everything that one attempt reads off its connection: certificates take a few KiB of it."""
CPU_SECONDS: Final = 0.25
"""Processor time of one attempt from its connection on. An honest one takes a few milliseconds."""
_PIECE: Final = 4_096
_T = TypeVar("_T")
_GONE: Final = 410
Dial = Callable[[tuple[str, int], float], socket.socket]
"""``socket.create_connection``: opens a connection to an address and a port, with a timeout in seconds."""


class AttemptEnd(StrEnum):
    """How an attempt ended."""

    DELIVERED = "delivered"
    """The receiver answered 2xx."""
    UNRESOLVABLE = "unresolvable"
    """The name has no address that messages may go to: none, one that is not public, or its name servers do not answer.

    Whether it has another one is nobody's business.
    """
    UNREACHABLE = "unreachable"
    """There was no connection."""
    TLS_FAILED = "tls_failed"
    """The connection had no certificate for the name."""
    TIMED_OUT = "timed_out"
    """The receiver did not answer in time."""
    NO_ANSWER = "no_answer"
    """It answered with something that is no HTTP, or too long."""
    REDIRECTED = "redirected"
    """It answered 3xx; register the address that it redirects to."""
    REFUSED = "refused"
    """It answered with the status in `last_status`, which is no 2xx."""
    GONE = "gone"
    """It answered 410: the webhook is switched off at once."""
    WRONG_CHALLENGE = "wrong_challenge"
    """It did not repeat the challenge."""
    UNSENDABLE = "unsendable"
    """The operator's mistake: the secret does not open (`webhook:rotate` makes another, which counts at once), or the
    worker may not send to the port. Tried again each minute, and never a reason to switch the webhook off.
    """


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of an attempt: how it ended, the status of the answer, and the seconds it took."""

    result: AttemptEnd
    status: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One request. ``challenge`` is what the answer has to repeat, where it has to."""

    body: bytes = field(repr=False)
    fields: Mapping[str, str] = field(repr=False)
    challenge: str | None = field(default=None, repr=False)


class _TimedOut(Exception):
    """The attempt used up its time, or its processor time."""


class _TooMuch(Exception):
    """The attempt used up its bytes."""


class Sender:
    """Sends messages for one process. Thread-safe."""

    def __init__(
        self,
        rules: ReceiverRules,
        *,
        lookup: Lookup | None = None,
        dial: Dial = socket.create_connection,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._rules, self._lookup, self._dial = rules, lookup or NameLookups().addresses, dial
        self._tls = tls or ssl.create_default_context()
        self._tls.options |= ssl.OP_NO_RENEGOTIATION

    def send(self, receiver: Receiver, outgoing: Outgoing, seconds: float) -> AttemptResult:
        """Try once, for at most ``LOOKUP_SECONDS`` and ``seconds``; never raises for what a receiver does."""
        begun = time.monotonic()
        try:
            machines = machines_of(receiver, self._rules, self._lookup, LOOKUP_SECONDS)
        except (OSError, ValueError):
            return AttemptResult(AttemptEnd.UNRESOLVABLE, None, time.monotonic() - begun)
        result, status = self._exchange(receiver, machines, outgoing, _Bounds.of(seconds))
        return AttemptResult(result, status, time.monotonic() - begun)

    def _exchange(
        self, receiver: Receiver, machines: list[IpAddress], outgoing: Outgoing, bounds: "_Bounds"
    ) -> tuple[AttemptEnd, int | None]:
        try:
            with self._dialled(receiver, machines, bounds) as connection:
                wire = _Wire(connection, bounds)
                stream: _Stream = _Secured(wire, self._tls, receiver.host) if receiver.secure else wire
                return _judge(_request(stream, receiver, outgoing), outgoing.challenge)
        except (_TimedOut, TimeoutError):
            return AttemptEnd.TIMED_OUT, None
        except ssl.SSLError:
            return AttemptEnd.TLS_FAILED, None
        except (_TooMuch, h11.ProtocolError, ValueError):
            return AttemptEnd.NO_ANSWER, None
        except OSError:
            return AttemptEnd.UNREACHABLE, None

    def _dialled(self, receiver: Receiver, machines: list[IpAddress], bounds: "_Bounds") -> socket.socket:
        """A connection to the first of the machines that takes one."""
        for place, machine in enumerate(machines[:-1]):
            with suppress(OSError):  # the others get their turn within the same time
                return self._dial((str(machine), receiver.port), bounds.left() / (len(machines) - place))
        return self._dial((str(machines[-1]), receiver.port), bounds.left())


@dataclass(slots=True)
class _Bounds:
    """The rest of an attempt, in the thread that makes it."""

    ends: float
    cpu_ends: float
    bytes_left: int = WIRE_BYTES

    @staticmethod
    def of(seconds: float) -> "_Bounds":
        return _Bounds(time.monotonic() + seconds, time.thread_time() + CPU_SECONDS)

    def left(self) -> float:
        """Seconds for the next wait; raises once there are none, or nothing of the processor time."""
        seconds = self.ends - time.monotonic()
        if seconds <= 0 or time.thread_time() > self.cpu_ends:
            raise _TimedOut
        return seconds


class _Stream(Protocol):
    """Bytes to and from a receiver."""

    def send(self, data: bytes) -> None: ...

    def receive(self) -> bytes:
        """Some bytes; none at the end."""


class _Wire:
    """A connection within an attempt's bounds."""

    def __init__(self, connection: socket.socket, bounds: _Bounds) -> None:
        self._connection, self._bounds = connection, bounds

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._connection.settimeout(self._bounds.left())
            view = view[self._connection.send(view[:_PIECE]) :]

    def receive(self) -> bytes:
        if self._bounds.bytes_left <= 0:
            raise _TooMuch
        self._connection.settimeout(self._bounds.left())
        data = self._connection.recv(min(_PIECE, self._bounds.bytes_left))
        self._bounds.bytes_left -= len(data)
        return data


class _Secured:
    """TLS over a wire. Its records pass through memory a few KiB at a time, so that each step is within the bounds."""

    def __init__(self, wire: _Wire, context: ssl.SSLContext, host: str) -> None:
        self._wire = wire
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self._step(self._tls.do_handshake)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            part = view[:_PIECE]
            self._step(partial(self._tls.write, part))
            view = view[len(part) :]

    def receive(self) -> bytes:
        try:
            return self._step(partial(self._tls.read, _PIECE))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    def _step(self, step: Callable[[], _T]) -> _T:
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self._flush()
                if data := self._wire.receive():
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
                continue
            self._flush()
            return done

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._wire.send(self._outgoing.read())


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes


def _request(stream: _Stream, receiver: Receiver, outgoing: Outgoing) -> _Answer:
    http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_ANSWER_BYTES)
    fields = {
        "Host": receiver.host_field,
        "User-Agent": "bounty-escrow-webhooks",
        "Content-Type": "application/json",
        "Content-Length": str(len(outgoing.body)),
        "Connection": "close",
        **outgoing.fields,
    }
    request = h11.Request(method="POST", target=receiver.target, headers=list(fields.items()))
    parts = [http.send(request), http.send(h11.Data(outgoing.body)), http.send(h11.EndOfMessage())]
    with suppress(BrokenPipeError, ConnectionResetError):  # what refuses without reading all of it may have answered
        for part in parts:
            stream.send(part or b"")
    status = _status(http, stream)
    if outgoing.challenge is None or not 200 <= status < 300:
        return _Answer(status, b"")
    body = b""
    while isinstance(event := _next(http, stream), h11.Data):
        body += event.data
        if len(body) > MAX_ANSWER_BYTES:
            raise _TooMuch
    return _Answer(status, body)


def _status(http: h11.Connection, stream: _Stream) -> int:
    """Of the answer itself; what comes before it informs of nothing that is of use."""
    while not isinstance(event := _next(http, stream), h11.Response):
        if not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("no answer")
    return event.status_code


def _next(http: h11.Connection, stream: _Stream) -> object:
    """The next event of the answer, or that there will be none."""
    while (event := http.next_event()) is h11.NEED_DATA:
        http.receive_data(stream.receive())
    return event


def _judge(answer: _Answer, challenge: str | None) -> tuple[AttemptEnd, int]:
    status = answer.status
    if status == _GONE:
        return AttemptEnd.GONE, status
    if 300 <= status < 400:
        return AttemptEnd.REDIRECTED, status
    if not 200 <= status < 300:
        return AttemptEnd.REFUSED, status
    if challenge is not None and not _repeats(answer.body, challenge):
        return AttemptEnd.WRONG_CHALLENGE, status
    return AttemptEnd.DELIVERED, status


def _repeats(body: bytes, challenge: str) -> bool:
    try:
        answered = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(answered, dict) and answered.get("challenge") == challenge
