"""The Caddy that is before each service in its pod: what it ends, so that the service need not."""

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import urllib3
from local_stack.ports import HOST
from local_stack.process import Child, minimal_environment

from tests.api.conftest import Service
from tests.api.running import RunningApi

REPOSITORY = Path(__file__).parents[2]
JSON = ("Content-Type", "application/json")
QUERY = b'{"query":"{ _meta { block { number } } }"}'
SLOW = b"POST /subgraph HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"


@pytest.fixture(scope="module")
def door(service: Service, running_api: RunningApi) -> RunningApi:
    """The api behind the proxy of its pod, at a port of this machine, with a body's time cut to three seconds."""
    text = (REPOSITORY / "deploy/k8s/base/door/Caddyfile").read_text(encoding="utf-8")
    for usual, here in (("127.0.0.1:8080", f"{HOST}:{running_api.port}"), ("read_body 15s", "read_body 3s")):
        assert text.count(usual) == 1
        text = text.replace(usual, here)

    def spawn(port: int) -> Child:
        config = service.runtime.logs / f"Caddyfile-{port}"
        config.write_text(text.replace(":8081 {", f"http://:{port} {{"), encoding="utf-8")
        return service.runtime.family.spawn(
            f"door-{port}",
            [Path(sys.executable).parent / "caddy", "run", "--adapter", "caddyfile", "--config", config],
            environment=minimal_environment(service.runtime.logs),
            cwd=service.runtime.logs,
        )

    def answers(port: int) -> bool:
        try:
            return urllib3.request("GET", f"http://{HOST}:{port}/healthz", retries=False, timeout=2).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    child, port = service.runtime.start_listening(spawn, answers, 30.0)
    return RunningApi(port, running_api.internal_port, child)


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


def test_proxy_adds_nothing_to_who_called(door: RunningApi, service: Service) -> None:
    """What the proxies before it say is counted; without them a request comes from inside, and has no budget."""
    media_type, query = ("Content-Type", "application/json"), b'{"query":"{ _meta { block { number } } }"}'
    before = set(service.resources.redis.scan_iter("LIMITS:*subgraph*"))
    for stated in ([("X-Forwarded-For", "203.0.113.99")], []):
        assert door.request("POST", "/subgraph", media_type, *stated, body=query).status == 200
    (counted,) = set(service.resources.redis.scan_iter("LIMITS:*subgraph*")) - before
    assert b"203.0.113.99" in counted


def test_answers_pass_as_they_are(door: RunningApi, running_api: RunningApi) -> None:
    for path in ("/api/readiness-rubric", "/api/deployment", "/api/bounties", "/api/nothing", "/api/bounties/0"):
        direct, through = running_api.request("GET", path), door.request("GET", path)
        stated = door.request("HEAD", path)
        assert (through.status, through.body) == (direct.status, direct.body), path
        assert (stated.status, stated.headers.get("content-length")) == (direct.status, str(len(direct.body))), path
