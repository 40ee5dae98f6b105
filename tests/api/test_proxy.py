"""The Caddy that is before each service in its pod: what it ends, so that the service need not."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
import urllib3
from local_stack.ports import HOST
from local_stack.process import Child, minimal_environment
from local_stack.runtime import Runtime

from tests.api.conftest import Service
from tests.api.running import RunningApi

REPOSITORY = Path(__file__).parents[2]
JSON = ("Content-Type", "application/json")
QUERY = b'{"query":"{ _meta { block { number } } }"}'
DOORS: Final[Mapping[str, tuple[str, Sequence[tuple[str, str]]]]] = {
    "pod": ("deploy/k8s/base/door/Caddyfile", [("127.0.0.1:8080", "{service}"), (":8081 {", "DOOR {{")]),
    "compose": ("deploy/compose/Caddyfile", [("api:8080", "{service}"), ("{$SERVICE_PUBLIC_HOST} {", "DOOR {{")]),
}
"""The file of each proxy, and what is replaced in it."""
HOME, STRANGER = "203.0.113.99", "198.51.100.66"
SLOW = b"POST /subgraph HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"


def start_door(runtime: Runtime, kind: str, port: int) -> RunningApi:
    """Start a documented proxy before the service at a port of this machine, with a body's time cut to three seconds.

    ``pod`` is the proxy of the api's pod, ``compose`` the entrance of the one machine.
    """
    file, changes = DOORS[kind]
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    for usual, here in (*changes, ("read_body 15s", "read_body 3s")):
        assert text.count(usual) == 1
        text = text.replace(usual, here.format(service=f"{HOST}:{port}"))

    def spawn(own: int) -> Child:
        config = runtime.logs / f"Caddyfile-{own}"
        config.write_text(text.replace("DOOR {", f"http://:{own} {{"), encoding="utf-8")
        return runtime.family.spawn(
            f"door-{own}",
            [Path(sys.executable).parent / "caddy", "run", "--adapter", "caddyfile", "--config", config],
            environment=minimal_environment(runtime.logs),
            cwd=runtime.logs,
        )

    child, own = runtime.start_listening(spawn, answers, 30.0)
    return RunningApi(own, 0, child)


def answers(port: int) -> bool:
    """Whether what is behind a port of this machine answers."""
    try:
        return urllib3.request("GET", f"http://{HOST}:{port}/healthz", retries=False, timeout=2).status == 200
    except urllib3.exceptions.HTTPError:
        return False


@pytest.fixture(scope="module", params=DOORS)
def door(request: pytest.FixtureRequest, service: Service, running_api: RunningApi) -> RunningApi:
    """The api behind each proxy."""
    return start_door(service.runtime, request.param, running_api.port)


@pytest.fixture(scope="module")
def telling(service: Service) -> Mapping[str, RunningApi]:
    """Each proxy before an app that answers from which network a request comes."""

    def spawn(port: int) -> Child:
        return service.runtime.family.spawn(
            f"telling-{port}",
            [
                Path(sys.executable).parent / "granian",
                *("--interface", "wsgi", "--host", HOST, "--port", str(port)),
                "tests.api.telling:application",
            ],
            environment=minimal_environment(service.runtime.logs) | {"PYTHONPATH": str(REPOSITORY)},
            cwd=service.runtime.logs,
        )

    _, port = service.runtime.start_listening(spawn, answers, 30.0)
    return {kind: start_door(service.runtime, kind, port) for kind in DOORS}


def test_slow_connections_keep_nobody_out(door: RunningApi) -> None:
    with ExitStack() as stack:
        for sent in (SLOW, SLOW[:40], b"") * 75:
            stack.enter_context(door.connect()).sendall(sent)
        answers = [door.request("POST", "/subgraph", JSON, body=QUERY).status for _ in range(20)]
        assert answers == [200] * 20
        assert door.request("GET", "/api/deployment").status == 200


@pytest.mark.parametrize(
    "body", [b'5\r\n{"que\r\n', b'9\r\n{"que', b'5\r\n{"que\r\nzz\r\n', b'5\r\n{"que\r\n0\r\n\r\n']
)
def test_body_without_a_length_is_refused(door: RunningApi, body: bytes) -> None:
    """Cut, cut in a chunk, malformed, whole; the first three never end, and are ended."""
    head = b"POST /subgraph HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n"
    answer = door.send(head + b"Transfer-Encoding: chunked\r\n\r\n" + body)
    assert answer.status in {400, 411, 499, 502}


def test_body_that_is_cut_is_refused(door: RunningApi) -> None:
    assert door.send(SLOW, finish=True).status in {0, 400, 499, 502}
    assert door.request("POST", "/subgraph", JSON, body=QUERY).status == 200


def test_encoded_slash_is_no_slash(door: RunningApi) -> None:
    for path in ("/api%2Fdeployment", "/api%2fdeployment", "/%2Fapi/deployment", "/api/bounties/1%2F"):
        answer = door.request("GET", path)
        assert (answer.status, answer.code) == (404, "route_not_found"), path
    assert door.request("GET", "/api/deployment?a=%2F").status == 400


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("spelling", ["X_Forwarded_For", "x-forwarded_for", "X_Forwarded-For", "Callers", "callers"])
def test_stranger_chooses_no_network(telling: Mapping[str, RunningApi], method: str, spelling: str) -> None:
    """An entrance of a cluster states the caller to the proxy of the pod; that of one machine sees who calls."""
    body, entrance, forged = b"x" * (method == "POST"), ("X-Forwarded-For", HOME), (spelling, STRANGER)
    for given in ([entrance, forged], [forged, entrance]):
        assert telling["pod"].request(method, "/", *given, body=body).body == HOME.encode()
        assert telling["compose"].request(method, "/", *given, body=body).body == HOST.encode()


def test_caller_that_no_entrance_states_is_one_network(telling: Mapping[str, RunningApi]) -> None:
    """A pod of the cluster passes no entrance, which alone adds the header."""
    assert telling["pod"].request("GET", "/", ("X_Forwarded_For", STRANGER)).body == b"unstated"


VERDICT: Final = "/api/written-verdicts/0x" + "00" * 32
MARKDOWN: Final = ("Content-Type", "text/markdown")
LARGE: Final = (413, "payload_too_large")
REFUSED: Final = [
    ("/subgraph", JSON, {200_000: LARGE, 299_999: LARGE, 300_000: LARGE, 5_000_000: LARGE}),
    ("/api/nothing", JSON, {200_000: (404, "route_not_found"), 299_999: (404, "route_not_found"), 900_000: LARGE}),
    (VERDICT, MARKDOWN, {200_000: (401, "unauthorized"), 262_144: (401, "unauthorized"), 262_145: LARGE}),
]


@pytest.mark.parametrize(("path", "media_type", "expected"), REFUSED)
def test_refused_body_has_its_answer(
    door: RunningApi, path: str, media_type: tuple[str, str], expected: Mapping[int, tuple[int, str]]
) -> None:
    """Whichever part refuses it, the one who sends it reads why."""
    for size, answer in expected.items():
        found = [door.request("POST", path, media_type, body=b" " * size) for _ in range(20)]
        assert {(each.status, each.status and each.code) for each in found} == {answer}, size


def test_answers_pass_as_they_are(door: RunningApi, running_api: RunningApi) -> None:
    for path in ("/api/readiness-rubric", "/api/deployment", "/api/bounties", "/api/nothing", "/api/bounties/0"):
        direct, through = running_api.request("GET", path), door.request("GET", path)
        stated = door.request("HEAD", path)
        assert (through.status, through.body) == (direct.status, direct.body), path
        assert (stated.status, stated.headers.get("content-length")) == (direct.status, str(len(direct.body))), path
