"""Spans, as the packages here use them.

Without a tracer every function here costs one look at an attribute and imports nothing. A span holds what its caller
names and no text of an error: never a header, a body, a query, an address, a statement or its parameters. A client span
exists only inside another one, so that a readiness check or a look for work starts no trace.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from enum import Enum
from types import TracebackType
from typing import Final, Protocol

Attributes = Mapping[str, str | int | bool]
Carrier = Mapping[str, str]
"""A trace's context for another process: ``traceparent`` as W3C Trace Context has it, or nothing."""


class SpanKind(Enum):
    """The role of a span in its trace."""

    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    STEP = "step"


class Span(Protocol):
    """One piece of work."""

    def rename(self, name: str) -> None:
        """Its name, where it is known only later."""

    def note(self, attributes: Attributes) -> None:
        """Add to what is known of it."""

    def fail(self) -> None:
        """It did not do what it was for; why is the attribute ``error.type``."""


class Tracer(Protocol):
    """Where spans go."""

    def open(
        self, kind: SpanKind, name: str, attributes: Attributes, carrier: Carrier | None
    ) -> AbstractContextManager[Span]:
        """A span around a block, below the one that ``carrier`` names, or the current one where it is None."""

    def current(self) -> Span | None:
        """The innermost open span."""

    def carrier(self) -> dict[str, str]:
        """The current trace's context for another process."""

    def forked(self) -> "Tracer":
        """One for this process, which was forked from the one that this tracer sends from."""

    def close(self, seconds: float) -> None:
        """Send what is left, for at most so long."""


class _Nothing:
    """The span of a process without a tracer."""

    def rename(self, name: str) -> None:
        """Nothing."""

    def note(self, attributes: Attributes) -> None:
        """Nothing."""

    def fail(self) -> None:
        """Nothing."""

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing."""


class _Used:
    """The tracer of this process."""

    __slots__ = ("tracer",)

    def __init__(self) -> None:
        self.tracer: Tracer | None = None


NOTHING: Final = _Nothing()
used: Final = _Used()


def server(traceparent: str) -> AbstractContextManager[Span]:
    """A request that is answered, in the trace that its caller names, if it names one."""
    return _open(SpanKind.SERVER, "request", {}, {"traceparent": traceparent})


def consumer(name: str, attributes: Attributes, carrier: Carrier) -> AbstractContextManager[Span]:
    """A job that is performed, in the trace it was enqueued in."""
    return _open(SpanKind.CONSUMER, name, attributes, carrier)


def producer(name: str, attributes: Attributes) -> AbstractContextManager[Span]:
    """Something passed on for later; it starts a trace where there is none."""
    return _open(SpanKind.PRODUCER, name, attributes, None)


def step(name: str, attributes: Attributes) -> AbstractContextManager[Span]:
    """One step of work that goes on for long: a trace of its own."""
    return _open(SpanKind.STEP, name, attributes, {})


def client(name: str, attributes: Attributes) -> AbstractContextManager[Span]:
    """A request to another server, inside a span."""
    if used.tracer is None or used.tracer.current() is None:
        return NOTHING
    return used.tracer.open(SpanKind.CLIENT, name, attributes, None)


def note(attributes: Attributes) -> None:
    """Add to what is known of the current span."""
    if used.tracer is not None and (span := used.tracer.current()) is not None:
        span.note(attributes)


def carrier() -> dict[str, str]:
    """The current trace's context for another process; empty where there is none."""
    return {} if used.tracer is None else used.tracer.carrier()


def _open(kind: SpanKind, name: str, attributes: Attributes, carrier: Carrier | None) -> AbstractContextManager[Span]:
    return NOTHING if used.tracer is None else used.tracer.open(kind, name, attributes, carrier)
