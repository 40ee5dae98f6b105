"""The port's spans through OpenTelemetry's SDK, sent as OTLP over HTTP.

Spans wait in a bounded queue that a thread sends from; a full queue, and anything that the collector does, costs spans
and nothing else. An exception leaves its type and the code of a ``ServiceError``, never its message. The caller's
``traceparent`` is read by the library, which ignores what is malformed; its ``tracestate`` is not taken. The libraries'
own loggers are silent: they quote addresses.
"""

import logging
import mmap
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Final

import requests
from bounty_protocol.errors import ServiceError
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from service_common.log import get_logger, trace_id
from service_common.traces.port import Attributes, Carrier, SpanKind

SEND_SECONDS: Final = 3.0
"""For one batch, its second attempt included."""
_KINDS: Final = {
    SpanKind.SERVER: trace.SpanKind.SERVER,
    SpanKind.CLIENT: trace.SpanKind.CLIENT,
    SpanKind.PRODUCER: trace.SpanKind.PRODUCER,
    SpanKind.CONSUMER: trace.SpanKind.CONSUMER,
    SpanKind.STEP: trace.SpanKind.INTERNAL,
}
SILENT_SECONDS: Final = 60.0
AVOID_SECONDS: Final = 10.0
_MOMENTS: Final = struct.Struct("dd")
_PROPAGATOR: Final = TraceContextTextMapPropagator()

log = get_logger(__name__)


class OtelSpan:
    """See the port."""

    __slots__ = ("_span",)

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def rename(self, name: str) -> None:
        self._span.update_name(name)

    def note(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def fail(self) -> None:
        self._span.set_status(trace.StatusCode.ERROR)


class Outage:
    """The state of a collector that takes no spans, shared by a process and the children it forks.

    However many children find out, it is logged once in ``SILENT_SECONDS``; a child that ends waits for its last spans
    only where none of its siblings found the collector away in the last ``AVOID_SECONDS``. Two moments in memory that
    survives a fork; a write that is lost costs one line or one wait.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._memory = mmap.mmap(-1, _MOMENTS.size)
        _MOMENTS.pack_into(self._memory, 0, float("-inf"), float("-inf"))

    def began(self, reason: str) -> None:
        """Spans were dropped, for a reason that holds no address."""
        now, (_, logged) = self._monotonic(), _MOMENTS.unpack_from(self._memory)
        if now - logged >= SILENT_SECONDS:
            logged = now
            log.warning("the collector takes no spans; they are dropped", reason=reason)
        _MOMENTS.pack_into(self._memory, 0, now, logged)

    def ended(self) -> None:
        """The collector took spans."""
        _, logged = _MOMENTS.unpack_from(self._memory)
        _MOMENTS.pack_into(self._memory, 0, float("-inf"), logged)

    def lasts(self) -> bool:
        """Whether waiting for the collector is in vain at the moment."""
        seen, _ = _MOMENTS.unpack_from(self._memory)
        return bool(self._monotonic() - seen < AVOID_SECONDS)


class OtelTracer:
    """See the port."""

    def __init__(self, service: str, endpoint: str, ratio: float, outage: Outage | None = None) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
        self._service, self._endpoint, self._ratio = service, endpoint, ratio
        self._outage = outage or Outage()
        provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(ratio)),
            resource=Resource.create({"service.name": service}),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(BatchSpanProcessor(_Exporter(endpoint, self._outage)))
        self._tracer = provider.get_tracer("service_common")
        self._ending, self._ended = Event(), Event()
        Thread(target=self._end, args=(provider,), name="traces-end", daemon=True).start()

    @contextmanager
    def open(self, kind: SpanKind, name: str, attributes: Attributes, carrier: Carrier | None) -> Iterator[OtelSpan]:
        """See the port."""
        context = None if carrier is None else _PROPAGATOR.extract(carrier, Context())
        with self._tracer.start_as_current_span(
            name,
            context,
            _KINDS[kind],
            attributes,
            record_exception=False,  # its message may quote anything
            set_status_on_exception=False,
        ) as span:
            token = trace_id.set(trace.format_trace_id(span.get_span_context().trace_id))
            try:
                yield OtelSpan(span)
            except BaseException as error:
                _fail(span, error)
                raise
            finally:
                trace_id.reset(token)

    def current(self) -> OtelSpan | None:
        """See the port."""
        span = trace.get_current_span()
        return OtelSpan(span) if span.get_span_context().is_valid else None

    def carrier(self) -> dict[str, str]:
        """See the port."""
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier

    def forked(self) -> "OtelTracer":
        """See the port."""
        return OtelTracer(self._service, self._endpoint, self._ratio, self._outage)

    def close(self, seconds: float) -> None:
        """See the port. While the collector is known to be away, nothing is waited for."""
        self._ending.set()
        if not self._outage.lasts() and not self._ended.wait(seconds):
            self._outage.began("no answer before the process ended")

    def _end(self, provider: TracerProvider) -> None:
        """In a thread that exists before the process ends: the SDK's own end waits for half a minute."""
        self._ending.wait()
        provider.shutdown()
        self._ended.set()


class _Session(requests.Session):
    """Remembers how the last attempt ended, without an address."""

    ended = ""

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        try:
            response = super().send(request, **options)
        except requests.RequestException as error:
            self.ended = type(error).__name__
            raise
        self.ended = f"status {response.status_code}"
        return response


class _Exporter(SpanExporter):
    """The library's exporter, its failures logged rarely and with our own message."""

    def __init__(self, endpoint: str, outage: Outage) -> None:
        self._session, self._outage = _Session(), outage
        self._inner = OTLPSpanExporter(endpoint=endpoint, timeout=SEND_SECONDS, session=self._session)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._outage.ended()
        else:
            self._outage.began(self._session.ended)
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()  # type: ignore[no-untyped-call]


def _fail(span: trace.Span, error: BaseException) -> None:
    if not isinstance(error, ServiceError):
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(trace.StatusCode.ERROR)
        return
    span.set_attribute("error.type", error.code)
    if error.status >= 500:
        span.set_status(trace.StatusCode.ERROR)
