"""OpenTelemetry behind the port: what is kept, whose trace it is, and a collector that is away."""

import logging
import os
from collections.abc import Iterator

import pytest
from bounty_protocol.errors import ServiceError
from service_common.log import trace_id
from service_common.traces.otel import AVOID_SECONDS, SILENT_SECONDS, OtelTracer, Outage
from service_common.traces.port import SpanKind
from service_common.traces.settings import parse_endpoint
from structlog.testing import capture_logs

from tests.fakes.collector import PASSWORD, WAIT_SECONDS, Collector, Seen

TRACE, SPAN = "ab" * 16, "cd" * 8


class Tracers:
    """Makes tracers that send to a collector."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._made: list[OtelTracer] = []

    def __call__(self, ratio: float = 1.0, outage: Outage | None = None) -> OtelTracer:
        endpoint = parse_endpoint(self._collector.url)
        assert endpoint is not None
        self._made.append(OtelTracer("tests", endpoint, ratio, outage))
        return self._made[-1]

    def end(self) -> None:
        """Until no thread sends: one that lived on would draw its random pauses within another test."""
        self._collector.held.clear()
        for made in self._made:
            made.close(0)
            assert made._ended.wait(WAIT_SECONDS)


@pytest.fixture
def tracer(collector: Collector) -> Iterator[Tracers]:
    tracers = Tracers(collector)
    yield tracers
    tracers.end()


def sent(collector: Collector, used: OtelTracer) -> list[Seen]:
    used.close(20)
    return collector.spans()


@pytest.mark.parametrize(("ratio", "roots"), [(0.0, 0), (1.0, 50)])
def test_ratio__of_traces_that_begin_here__is_kept_whole_or_not_at_all(
    collector: Collector, tracer: Tracers, ratio: float, roots: int
) -> None:
    used = tracer(ratio)
    for _ in range(50):
        with used.open(SpanKind.SERVER, "root", {}, {}), used.open(SpanKind.CLIENT, "child", {}, None):
            pass
    assert len(sent(collector, used)) == 2 * roots


def test_ratio__of_a_trace_that_began_elsewhere__is_decided_there(collector: Collector, tracer: Tracers) -> None:
    used = tracer(0.0)
    for flag in ("00", "01"):
        with used.open(SpanKind.SERVER, f"flag {flag}", {}, {"traceparent": f"00-{TRACE}-{SPAN}-{flag}"}):
            assert used.carrier()["traceparent"].endswith(f"-{flag}")
    (span,) = sent(collector, used)
    assert (span.name, span.trace, span.parent) == ("flag 01", TRACE, SPAN)


def test_span__that_ends_with_an_error__has_its_type_and_none_of_its_words(
    collector: Collector, tracer: Tracers
) -> None:
    used = tracer()
    errors = [
        ValueError("LEAKED"),
        ServiceError("bounty_not_found", "LEAKED"),
        ServiceError("storage_unavailable", "x"),
    ]
    for error in errors:
        with pytest.raises(type(error)), used.open(SpanKind.CLIENT, "failing", {}, None):
            raise error
    seen = [(span.attributes["error.type"], span.failed) for span in sent(collector, used)]
    assert sorted(seen) == [("ValueError", True), ("bounty_not_found", False), ("storage_unavailable", True)]
    assert b"LEAKED" not in collector.received


def test_log__inside_nested_spans_and_after__has_the_trace_and_then_none(tracer: Tracers) -> None:
    used = tracer()
    with used.open(SpanKind.SERVER, "outer", {}, {"traceparent": f"00-{TRACE}-{SPAN}-01"}):
        with used.open(SpanKind.CLIENT, "inner", {}, None):
            assert trace_id.get() == TRACE
        assert trace_id.get() == TRACE
    assert trace_id.get() == ""
    assert used.current() is None
    used.close(20)


def test_queue__that_is_full__drops_spans_and_never_waits(
    collector: Collector, tracer: Tracers, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "16")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")
    collector.held.set()
    used = tracer()
    for _ in range(1_000):
        with used.open(SpanKind.SERVER, "request", {}, {}):
            pass
    with caplog.at_level(logging.DEBUG), capture_logs() as said:
        used.close(0.1)
        used.close(0.1)
    assert [line["reason"] for line in said] == ["no answer before the process ended"]
    # the thread that sends may connect only now, which urllib3 notes
    assert [record for record in caplog.records if record.name.split(".")[0] != "urllib3"] == []


def test_headers__that_the_collector_asks_for__are_the_sdks_to_send(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20of-tests")
    endpoint = parse_endpoint(collector.url.replace(f"operator:{PASSWORD}@", ""))
    assert endpoint is not None
    used = OtelTracer("tests", endpoint, 1.0)
    with used.open(SpanKind.SERVER, "request", {}, {}):
        pass
    assert len(sent(collector, used)) == 1
    assert collector.authorizations == ["Bearer of-tests"]


class Moments:
    """A clock that a test turns."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_outage__of_a_collector__is_said_rarely_and_avoided_for_a_while() -> None:
    clock = Moments()
    outage = Outage(clock)
    with capture_logs() as said:
        assert not outage.lasts()
        for seconds in (0.0, AVOID_SECONDS + 1, SILENT_SECONDS):
            clock.now += seconds
            outage.began("status 503")
            assert outage.lasts()
        clock.now += AVOID_SECONDS
        assert not outage.lasts()
        outage.began("status 503")
        outage.ended()
        assert not outage.lasts()
    assert [line["reason"] for line in said] == ["status 503"] * 2


def test_outage__found_by_a_forked_child__is_known_to_its_parent() -> None:
    outage = Outage()
    child = os.fork()
    if child == 0:
        outage.began("status 503")
        os._exit(0)
    os.waitpid(child, 0)
    assert outage.lasts()


def test_tracer__that_ends_in_a_known_outage__does_not_wait_and_does_not_prolong_it(
    collector: Collector, tracer: Tracers
) -> None:
    clock = Moments()
    outage = Outage(clock)
    collector.held.set()
    outage.began("status 503")
    clock.now += AVOID_SECONDS - 1
    used = tracer(outage=outage)
    with used.open(SpanKind.SERVER, "request", {}, {}):
        pass
    used.close(1)
    clock.now += 1
    assert not outage.lasts()  # the next child tries again
