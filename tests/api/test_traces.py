"""One trace from a public request to the end of what it set in motion, and nothing in it that is nobody's business."""

import json
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.conftest import Service
from tests.api.pages import page_for
from tests.api.running import Answer, RunningApi, start_api
from tests.api.tracing import LEAKED, Traced, traced_processes
from tests.common.traces.test_off import loaded
from tests.fakes.collector import PASSWORD, Collector, Seen

PUBLISH = "/api/bounty-challenge-specs/prepare-publication"
ZERO = "0x" + "00" * 32


@pytest.fixture(scope="module")
def traced(service: Service) -> Iterator[Traced]:
    collector = Collector()
    with traced_processes(service, collector) as running:
        yield running
    collector.close()


def publish(service: Service, traced: Traced, page: bytes, *headers: tuple[str, str]) -> Answer:
    """Publish a page, as somebody whose quota no other test counts."""
    poster = service.world.people.guardians[2]
    query = f"poster_address={poster.address}"
    key = poster.wallet.private_key
    authorization = service.authorization(key, "POST", PUBLISH, query=query, body=page)
    own = (("Authorization", authorization), ("Content-Type", "text/markdown"))
    return traced.api.request("POST", f"{PUBLISH}?{query}", *own, *headers, body=page)


def span_of(traced: Traced, answer: Answer) -> Seen:
    """The api's span of the request that got this answer."""
    wanted = answer.headers["x-correlation-id"]

    def is_it(span: Seen) -> bool:
        return span.service == "api" and span.attributes.get("service.correlation_id") == wanted

    return next(filter(is_it, traced.collector.wait(lambda spans: any(map(is_it, spans)))))


def test_publication__by_a_caller_in_a_trace__is_one_trace_to_the_model(service: Service, traced: Traced) -> None:
    trace, caller = secrets.token_hex(16), secrets.token_hex(8)
    page = page_for(service.world, title="Traced")
    answer = publish(service, traced, page, ("traceparent", f"00-{trace}-{caller}-01"))
    assert answer.status == 200, answer.body

    names = [f"POST {PUBLISH}", "send reviews", "process reviews", "model chat", "database writing"]
    seen = traced.collector.trace_of(lambda span: span.trace == trace and span.name == "process reviews", names)

    server, sent, job, model = (seen[name] for name in names[:4])
    assert (server.service, server.kind, server.parent) == ("api", "server", caller)
    assert server.attributes == {
        "http.request.method": "POST",
        "http.route": PUBLISH,
        "http.response.status_code": 200,
        "service.correlation_id": answer.headers["x-correlation-id"],
    }
    assert (sent.service, sent.kind, sent.parent) == ("api", "producer", server.span)
    assert (job.service, job.kind, job.parent) == ("reviewer", "consumer", sent.span)
    assert job.attributes["code.function.name"] == "service_reviewer.jobs.review"
    assert (model.service, model.kind, model.parent) == ("reviewer", "client", job.span)
    everything = traced.collector.spans()
    spans, known = [span for span in everything if span.trace == trace], {span.span for span in everything}
    # The chain is asked by whichever request comes first, and then now and then: what is known is not asked again.
    calls = [span for span in everything if span.attributes.get("rpc.system") == "jsonrpc" and span.parent in known]
    assert calls
    assert all((span.service, span.attributes["rpc.endpoint"]) == ("api", 1) for span in calls)
    assert {span.service for span in spans if span.name.startswith("database ")} == {"api", "reviewer"}
    assert not any(span.failed for span in spans)


def test_refusal__of_a_request__names_its_code_and_is_no_failure(traced: Traced) -> None:
    span = span_of(traced, traced.api.request("GET", "/api/bounties/4711"))
    assert (span.name, span.attributes["error.type"]) == ("GET /api/bounties/<bounty_id>", "bounty_not_found")
    assert not span.failed


def test_delivery_request__forwarded__is_one_trace_in_both_services(traced: Traced) -> None:
    path = f"/api/bounties/4711/delivery/status?submission_commitment={ZERO}"
    server = span_of(traced, traced.api.request("GET", path))

    def inner(spans: list[Seen]) -> dict[tuple[str, str], Seen]:
        return {(span.service, span.kind): span for span in spans if span.trace == server.trace}

    wanted = {("api", "client"), ("delivery", "server")}
    found = inner(traced.collector.wait(lambda spans: wanted <= set(inner(spans))))
    forwarded, answered = found["api", "client"], found["delivery", "server"]
    assert forwarded.name == "forward GET"
    assert (forwarded.kind, forwarded.parent) == ("client", server.span)
    assert (answered.kind, answered.parent, answered.name) == ("server", forwarded.span, server.name)
    assert forwarded.attributes["http.response.status_code"] == answered.attributes["http.response.status_code"]
    for name in ("service.correlation_id", "error.type"):
        assert answered.attributes.get(name) == server.attributes.get(name)


def test_kept_read__answered_at_the_edge__is_a_span_too(traced: Traced) -> None:
    answers = [traced.api.request("GET", "/api/bounties?limit=7") for _ in range(2)]
    first, second = (span_of(traced, answer) for answer in answers)
    assert (first.name, second.name) == ("GET /api/bounties", "GET kept")
    assert second.attributes["http.response.status_code"] == 200


def test_log_lines__of_a_request__carry_the_id_of_its_trace(traced: Traced) -> None:
    answer = traced.api.request("GET", "/api/bounties/4711")
    span, wanted = span_of(traced, answer), answer.headers["x-correlation-id"]
    lines = [line for line in traced.log_lines("traced-service-api") if line.get("correlation_id") == wanted]
    assert {line.get("trace_id") for line in lines} == {span.trace}
    outside = [line for line in traced.log_lines("traced-service-api") if line.get("event") == "started"]
    assert outside
    assert not [line for line in outside if "trace_id" in line]


GOOD = f"00-{'ab' * 16}-{'cd' * 8}-01"
HOSTILE = [
    [""],
    ["00"],
    ["x" * 5_000],
    [GOOD + "-" + "e" * 5_000],
    [GOOD + "-more"],
    [GOOD.replace("00-", "ff-", 1)],
    [GOOD.replace("ab", "zz", 1)],
    [GOOD.upper()],
    [GOOD.replace("ab" * 16, "00" * 16)],
    [GOOD.replace("cd" * 8, "00" * 8)],
    [GOOD.replace("ab" * 16, "ab" * 15)],
    [GOOD, GOOD],
    [GOOD, "00-" + "12" * 16 + "-" + "34" * 8 + "-01"],
    ["\xff\xfe"],
]


@pytest.mark.parametrize("values", HOSTILE, ids=range(len(HOSTILE)))
def test_traceparent__malformed__begins_a_new_trace_and_changes_no_answer(traced: Traced, values: list[str]) -> None:
    plain = traced.api.request("GET", "/api/bounties/4711")
    answer = traced.api.request("GET", "/api/bounties/4711", *(("traceparent", value) for value in values))
    assert (answer.status, answer.body) == (plain.status, plain.body)
    span = span_of(traced, answer)
    assert span.parent == ""
    assert span.trace not in "".join(values)


def test_spans__of_requests_full_of_secrets__hold_none(service: Service, traced: Traced) -> None:
    page = page_for(service.world, title=f"{LEAKED} page")
    body = json.dumps({"query": f"{{ bounties {LEAKED} }}"}).encode()
    signed = ("Authorization", f"Service-Approval {LEAKED}")
    answers = [
        publish(service, traced, page, ("tracestate", f"vendor={LEAKED}"), ("traceparent", GOOD)),
        traced.api.request("GET", f"/api/{LEAKED}/{LEAKED}"),
        traced.api.request("GET", f"/api/bounties?cursor={LEAKED}"),
        traced.api.request("GET", f"/api/bounties/1/submissions/{ZERO}/content", signed, ("Cookie", LEAKED)),
        traced.api.request("POST", "/subgraph", ("Content-Type", "application/json"), body=body),
        traced.api.request("POST", "/api/bounties/1/delivery/wrap", signed, body=body),
        traced.api.request("GET", f"/api/bounties/1/delivery/status?submission_commitment={LEAKED}"),
        traced.api.request(LEAKED, "/api/bounties"),
        traced.api.request("GET", "/api/bounties", ("X-Correlation-Id", f"{LEAKED} {LEAKED}")),
    ]
    assert answers[0].status == 200, answers[0].body
    names = {span_of(traced, answer).name for answer in answers if answer.status}
    assert {f"POST {PUBLISH}", "GET none", "POST /subgraph"} <= names
    traced.collector.wait(lambda spans: any(span.trace == "ab" * 16 and span.name == "model chat" for span in spans))
    for word in (LEAKED, *traced.passwords):
        assert word.encode() not in traced.collector.received
    logs = "".join(path.read_text() for path in traced.logs.glob("traced-*.log"))
    assert PASSWORD not in logs
    assert f"{LEAKED}-rpc" not in logs
    assert all(header.startswith("Basic ") for header in traced.collector.authorizations)  # it was used


def end(api: RunningApi) -> None:
    """Ask the process to end, and see it end."""
    began = time.monotonic()
    api.child.send(signal.SIGTERM)
    while api.child.exit_status() is None:
        assert time.monotonic() - began < 20, "it waits for its collector"
        time.sleep(0.05)


def test_process__asked_to_end__sends_what_is_left(service: Service) -> None:
    collector = Collector()
    try:
        variables = {**service.variables, **collector.variables(), "OTEL_BSP_SCHEDULE_DELAY": "3600000"}
        api = start_api(service.runtime, variables)
        wanted = [api.request("GET", "/api/bounties/4711").headers["x-correlation-id"] for _ in range(3)]
        assert collector.spans() == []
        end(api)
        assert [
            span.attributes.get("service.correlation_id") for span in collector.spans() if not span.parent
        ] == wanted
    finally:
        collector.close()


def test_collector__that_never_answers__delays_neither_an_answer_nor_the_end(service: Service) -> None:
    collector = Collector()
    collector.held.set()
    try:
        variables = {**service.variables, **collector.variables()}
        api = start_api(service.runtime, variables)
        answers = [api.request("GET", "/api/bounties/4711") for _ in range(20)]
        assert {answer.status for answer in answers} == {404}
        end(api)
        log = (service.runtime.logs / f"api-{api.port}.log").read_text()
        assert log.count("the collector takes no spans") == 1
        assert PASSWORD not in log
    finally:
        collector.close()


def test_process__that_answers_without_an_endpoint__imports_neither_sdk_nor_exporter(
    service: Service, tmp_path: Path
) -> None:
    assert loaded("service_api.wsgi", tmp_path, **service.variables) == set()
