"""A collector that takes OTLP over HTTP, decodes it, and keeps every span; or one that is slow, or refuses."""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.serving import serving

PASSWORD: Final = "LEAKED-collector-password"
WAIT_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Seen:
    """One span as it arrived; ids in hex, ``parent`` empty for a root."""

    service: str
    name: str
    kind: str
    trace: str
    span: str
    parent: str
    failed: bool
    attributes: dict[str, str | int | bool]


class Collector:
    """The receiver. ``status`` is what it answers; while ``held`` is set its answers never end."""

    def __init__(self) -> None:
        self.status = 200
        self.held = threading.Event()
        self.received = b""
        """Every body, one after the other, as it came."""
        self.authorizations: list[str] = []
        self.ended = threading.Event()
        self._spans: list[Seen] = []
        self._changed = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._serving = ExitStack()
        self._serving.enter_context(serving(self._server))

    @property
    def url(self) -> str:
        """What SERVICE_OTLP_ENDPOINT is, with credentials in it."""
        return f"http://operator:{PASSWORD}@127.0.0.1:{self._server.server_port}"

    def variables(self) -> dict[str, str]:
        """The environment of a process that sends here, soon."""
        return {"SERVICE_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "100"}

    def spans(self) -> list[Seen]:
        """What arrived so far."""
        with self._changed:
            return list(self._spans)

    def wait(self, found: Callable[[list[Seen]], bool]) -> list[Seen]:
        """All spans, once those that are waited for are among them."""
        with self._changed:
            done = self._changed.wait_for(lambda: found(self._spans), timeout=WAIT_SECONDS)
            assert done, "\n".join(map(str, self._spans))
            return list(self._spans)

    def trace_of(self, found: Callable[[Seen], bool], names: Sequence[str]) -> dict[str, Seen]:
        """The spans of the trace that has a span like ``found``, by name, once all of ``names`` are there."""

        def whole(spans: list[Seen]) -> dict[str, Seen]:
            trace = next((each.trace for each in spans if found(each)), None)
            return {each.name: each for each in spans if each.trace == trace}

        return whole(self.wait(lambda spans: set(names) <= set(whole(spans))))

    def take(self, path: str, authorization: str, body: bytes) -> int | None:
        """Keep what came; the status to answer, None for an answer without an end."""
        assert path == "/v1/traces"
        if self.held.is_set():
            return None
        if self.status != 200:
            return self.status
        with self._changed:
            self.received += body
            self.authorizations.append(authorization)
            self._spans += _decoded(ExportTraceServiceRequest.FromString(body))
            self._changed.notify_all()
        return 200

    def close(self) -> None:
        """Stop."""
        self.ended.set()
        self._serving.close()


def _handler(collector: Collector) -> Callable[..., BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = collector.take(self.path, self.headers.get("Authorization", ""), body)
            if status is None:
                self.drip()
                return
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def drip(self) -> None:
            """Byte by byte: a time limit between two of them never strikes."""
            self.close_connection = True
            with suppress(OSError):  # the client has given up
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while collector.held.is_set() and not collector.ended.wait(0.2):
                    self.wfile.write(b"x")

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler


def _decoded(request: ExportTraceServiceRequest) -> list[Seen]:
    return [
        Seen(
            service=str(_attributes(resource.resource.attributes)["service.name"]),
            name=span.name,
            kind=type(span).SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
            trace=span.trace_id.hex(),
            span=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            failed=span.status.code == 2,
            attributes=_attributes(span.attributes),
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def _attributes(pairs: Sequence[KeyValue]) -> dict[str, str | int | bool]:
    return {each.key: _value(each.value) for each in pairs}


def _value(value: AnyValue) -> str | int | bool:
    kind = value.WhichOneof("value")
    assert kind in {"string_value", "int_value", "bool_value"}, kind
    found: str | int | bool = getattr(value, kind)
    return found
