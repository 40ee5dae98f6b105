"""``service-conformance`` against the stack: all of it conforms, and a deployment that does not is found out.

The deviations are planted between the kit and the stack's own answers.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from bounty_protocol.errors import PROBLEMS
from bounty_protocol.timely import HttpAnswer, TimelyHttp
from demo.bounty import Cast, Funded
from service_cli.conformance import asking
from service_cli.conformance.events import Conformity
from service_cli.conformance.public import Known
from service_cli.conformance.run import Requirement, looked_at, requirements
from service_cli.conformance.signed import PROTECTED

from tests.api.contract import openapi_document

Altered = Callable[[str, str, str, HttpAnswer], HttpAnswer]
"""Of a request's method, path and query: what its answer becomes."""


@pytest.fixture(scope="module")
def funded(cast: Cast) -> list[Funded]:
    """Enough bounties for two pages of the list."""
    return [
        cast.fund(submission_seconds=600, judging_seconds=600, title=f"Bounty {number} to be looked at")
        for number in range(4)
    ]


BEFORE = {"deployment.facts", "list.pages", "bounty.detail"}
"""What other requirements build on."""


def result_of(cast: Cast, requirement: str) -> Conformity:
    known = Known(asking.ExaminedApi(cast.stack.api_base_url))
    wanted = [each for each in requirements(cast.stack.anvil.url) if each.name in BEFORE | {requirement}]
    return {each.name: looked_at(each, known).result for each in wanted}[requirement]


def test_stack__looked_at_as_an_operator_does__conforms(cast: Cast, funded: list[Funded]) -> None:
    program = str(Path(sys.executable).parent / "service-conformance")
    environment = {"SERVICE_RPC_URL": cast.stack.anvil.url, "HOME": str(cast.folder)}
    done = subprocess.run(
        [program, cast.stack.api_base_url, "--json", "--strict"],
        env=environment,
        cwd=cast.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line for line in lines if line.get("result") not in {"met", None}] == [], done.stderr
    assert done.returncode == 0, done.stderr
    assert lines[-1]["event"] == "service_conformance.finished"
    assert (lines[-1]["broken"], lines[-1]["not_checked"]) == (0, 0)


def test_requests__that_the_kit_sends_unsigned__are_all_that_need_a_signature() -> None:
    described = {
        (method.upper(), path)
        for path, operations in openapi_document()["paths"].items()
        for method, operation in operations.items()
        if isinstance(operation, dict) and operation.get("security")
    }
    names = {"id": "{bounty_id}", "account": "{solver_address}"}
    ours = {(each.method, each.path.format(hash="{}", **names)) for each in PROTECTED}
    hashes = re.compile(r"\{(submission_commitment|report_commitment|webhook_id)\}")
    assert ours == {(method, hashes.sub("{}", path)) for method, path in described}


def changed(answer: HttpAnswer, change: Callable[[Any], None]) -> HttpAnswer:
    value = json.loads(answer.body)
    change(value)
    return replace(answer, body=json.dumps(value).encode())


def without(answer: HttpAnswer, name: str) -> HttpAnswer:
    return replace(answer, headers={key: value for key, value in answer.headers.items() if key.lower() != name})


def only(wanted: Callable[[str, str, str, HttpAnswer], bool], change: Callable[[HttpAnswer], HttpAnswer]) -> Altered:
    return lambda method, path, query, answer: change(answer) if wanted(method, path, query, answer) else answer


def at(path: str, change: Callable[[Any], None]) -> Altered:
    """A change of the whole answers at this path."""
    return only(lambda _m, found, _q, answer: found == path and answer.status == 200, lambda a: changed(a, change))


def refusals(change: Callable[[HttpAnswer], HttpAnswer], status: int) -> Altered:
    return only(lambda _m, _p, _q, answer: answer.status == status, change)


def amounts_as_numbers(found: Any) -> None:
    for item in found["items"]:
        item["facts"]["escrow_amount"] = int(item["facts"]["escrow_amount"])


def repeat_the_first(found: Any) -> None:
    if found["items"]:
        found["items"][-1] = found["items"][0]


def finish_the_first(found: Any) -> None:
    found["items"][0]["facts"]["status"] = "final"


def other_page(answer: HttpAnswer) -> HttpAnswer:
    return changed(answer, lambda found: found.update(challenge="# Another page\n"))


def accept(answer: HttpAnswer) -> HttpAnswer:
    return replace(answer, status=200, body=b'{"webhooks": []}')


def forgiving(answer: HttpAnswer) -> HttpAnswer:
    """An operator who takes a signature for whatever it is over."""
    code = "forbidden"
    return changed(replace(answer, status=403), lambda found: found["error"].update(code=code))


PLANTED: dict[str, tuple[str, Altered]] = {
    "a code with another status": (
        "refusals.identifiers",
        refusals(lambda answer: replace(answer, status=400), 404),
    ),
    "a refusal without a code": ("refusals.queries", refusals(lambda answer: replace(answer, body=b"{}"), 400)),
    "amounts as numbers": ("list.pages", at("/api/bounties", amounts_as_numbers)),
    "a bounty on two pages": ("list.pages", at("/api/bounties", repeat_the_first)),
    "an order of its own": ("list.order", at("/api/bounties", lambda found: found["items"].reverse())),
    "a page that nobody committed to": (
        "bounty.challenge",
        only(lambda _m, path, _q, answer: path.startswith("/api/bounties/") and answer.status == 200, other_page),
    ),
    "a challenge that is absent without a reason": (
        "bounty.challenge",
        only(
            lambda _m, path, _q, answer: path.startswith("/api/bounties/") and answer.status == 200,
            lambda answer: changed(answer, lambda found: found.update(challenge=None)),
        ),
    ),
    "an answer that is never 304": (
        "answer.not_modified",
        only(lambda _m, _p, _q, answer: answer.status == 304, lambda answer: replace(answer, status=200, body=b"{}")),
    ),
    "a filter that does nothing": (
        "list.filters",
        only(lambda _m, _p, query, _a: "status=open" in query, lambda answer: changed(answer, finish_the_first)),
    ),
    "a change that is left out": ("changes.pages", at("/api/changes", lambda found: found["items"].pop(0))),
    "another Hub": ("deployment.chain", at("/api/deployment", lambda f: f.update(hub_address="0x" + "ab" * 20))),
    "another host for signatures": (
        "deployment.facts",
        at("/api/deployment", lambda found: found.update(public_host="other.example")),
    ),
    "a protected route without a signature": (
        "signature.missing",
        only(lambda _m, path, _q, answer: path == "/api/webhooks" and answer.status == 401, accept),
    ),
    "a signature over anything": (
        "signature.altered",
        only(lambda _m, path, _q, answer: path.endswith("/content") and answer.status == 401, forgiving),
    ),
    "401 without how to sign": (
        "signature.missing",
        refusals(lambda answer: without(answer, "www-authenticate"), 401),
    ),
    "answers that cannot be traced": (
        "documents.present",
        only(lambda *_: True, lambda answer: without(answer, "x-correlation-id")),
    ),
    "GraphQL rows of another bounty": (
        "graphql.facts",
        at("/subgraph", lambda found: found["data"]["bounties"][0].update(bounty_id=10**6)),
    ),
    "GraphQL amounts of another bounty": (
        "graphql.facts",
        at("/subgraph", lambda found: found["data"]["bounties"][0].update(escrow_amount="1")),
    ),
    "a code of its own": (
        "refusals.routes",
        refusals(lambda answer: changed(answer, lambda f: f["error"].update(code="nothing_here")), 404),
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_deviation__is_found_at_its_requirement(
    cast: Cast, funded: list[Funded], monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    requirement, alter = PLANTED[planted]
    exchange = TimelyHttp.exchange

    def altered(self: TimelyHttp, method: str, url: str, **options: Any) -> HttpAnswer:
        path, _, query = url.removeprefix(cast.stack.api_base_url).partition("?")
        return alter(method, path, query, exchange(self, method, url, **options))

    monkeypatch.setattr(TimelyHttp, "exchange", altered)
    assert result_of(cast, requirement) is Conformity.BROKEN


def test_bounty__that_is_created_between_two_reads__is_no_deviation(
    cast: Cast, funded: list[Funded], monkeypatch: pytest.MonkeyPatch
) -> None:
    exchange, lists = TimelyHttp.exchange, count()

    def before_the_newest(self: TimelyHttp, method: str, url: str, **options: Any) -> HttpAnswer:
        answer = exchange(self, method, url, **options)
        is_first = urlsplit(url).path == "/api/bounties" and next(lists) == 0
        return changed(answer, lambda found: found["items"].pop(0)) if is_first else answer

    monkeypatch.setattr(TimelyHttp, "exchange", before_the_newest)
    assert result_of(cast, "list.pages") is Conformity.MET


def test_codes__of_refusals_that_the_kit_expects__are_the_interfaces() -> None:
    from service_cli.conformance.refusals import BODIES, GRAPHQL, IDENTIFIERS, QUERIES, ROUTES

    assert {each.code for each in (*ROUTES, *IDENTIFIERS, *QUERIES, *BODIES, *GRAPHQL)} <= set(PROBLEMS)


@pytest.mark.parametrize(
    "rows",
    [None, {"bounties": "ab"}, {"bounties": [1]}, {"bounties": [{}]}, {"bounties": [{"bounty_id": "x"}]}],
    ids=["null", "text", "numbers", "empty rows", "a number that is none"],
)
def test_answer__that_no_check_can_make_sense_of__breaks_its_requirement(rows: object) -> None:
    def strange(_: Known) -> str:
        known = {"data": rows}
        return str([int(row["bounty_id"]) for row in known["data"]["bounties"]])  # type: ignore[index]

    found = looked_at(Requirement("graphql.facts", strange, "facts"), Known(asking.ExaminedApi("http://127.0.0.1:1")))
    assert found.result is Conformity.BROKEN


def test_api__that_asks_for_another_attempt_at_once__is_not_asked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    slept = list[float]()
    monkeypatch.setattr("service_cli.conformance.asking.time.sleep", slept.append)
    away = HttpAnswer(503, {"Retry-After": "0", "X-Correlation-Id": "a"}, b'{"error": {"code": "service_overloaded"}}')
    monkeypatch.setattr(TimelyHttp, "exchange", lambda *_, **__: away)
    assert asking.ExaminedApi("http://127.0.0.1:1").send("GET", "/api/status").status == 503
    assert sum(slept) == asking.PATIENCE_SECONDS
