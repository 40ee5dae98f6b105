"""The server as a process over stdio and over HTTP, in the newest protocol and in the one before."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import click
import httpx2
import pytest
import urllib3
import uvicorn
from mcp import Client as McpClient
from mcp import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from service_mcp import http
from service_mcp.http import (
    HEALTH,
    MOST_AT_ONCE,
    MOST_OF_ONE,
    Budgets,
    Entrance,
    Places,
    make_app,
    networks_of,
    server_config,
    with_endpoints,
)
from service_mcp.server import READING, Options
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.cli.ledger import ESCROW
from tests.cli.scenes import Stage, claim
from tests.waiting import wait_until

PROGRAM = Path(sys.executable).parent / "service-mcp"
MODES = ["legacy", "auto"]


def started(stage: Stage, *arguments: str) -> StdioServerParameters:
    home = stage.home("poster")
    (home.home / "mine").mkdir()
    values = home.variables() | {"SERVICE_MCP_READ_ONLY": ""}
    return StdioServerParameters(command=str(PROGRAM), args=list(arguments), env=values, cwd=str(home.home))


@pytest.mark.parametrize("mode", MODES)
def test_stdio__with_roles__has_their_tools_and_read_only_wins(stage: Stage, mode: str) -> None:
    async def names(*arguments: str) -> set[str]:
        async with McpClient(started(stage, *arguments), mode=mode) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    solver = ("--role", "solver", "--work-dir", "mine", "--pages", "https://pages.example")
    assert asyncio.run(names()) == set(READING)
    assert asyncio.run(names(*solver)) - set(READING) == {"prepare_submission", "prepare_claim", "carry_out"}
    assert asyncio.run(names(*solver, "--read-only")) == set(READING)


def test_stdio__prints_nothing_but_the_protocol_on_stdout(stage: Stage) -> None:
    parameters = started(stage)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }}  # fmt: skip
    ran = subprocess.run(
        [parameters.command], input=json.dumps(hello) + "\n", env=parameters.env, cwd=parameters.cwd,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    (line,) = ran.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "service-mcp"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--role", "solver"], "--work-dir"),
        (["--role", "owner"], "owner"),
        (["--account", "solver=0x1"], "--account"),
        (["--role", "solver", "--work-dir", "/"], "directory"),
        (["--role", "solver", "--work-dir", "gone"], "Make one for this"),
        (["--role", "solver", "--work-dir", "mine", "--policy", "gone.toml"], "policy"),
        (["--http", "8000"], "HOST:PORT"),
        (["--http", "127.0.0.1:9", "--role", "solver", "--work-dir", "mine"], "leave --role and --work-dir away"),
        (["--allow-host", "a.example"], "leave --allow-host away"),
        (["--policy", "policy.toml"], "leave --policy away"),
        (["--network", "nope"], "--network"),
        (["--http", "127.0.0.1:65536"], "HOST:PORT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_command__with_what_cannot_be__ends_with_a_sentence(stage: Stage, arguments: list[str], words: str) -> None:
    parameters = started(stage)
    ran = subprocess.run(
        [parameters.command, *arguments], env=parameters.env, cwd=parameters.cwd, capture_output=True, text=True,
        timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (ran.returncode in {1, 2}, ran.stdout, "Traceback" in ran.stderr) == (True, "", False)
    assert words in ran.stderr


@contextmanager
def running(app: ASGIApp) -> Iterator[tuple[uvicorn.Server, int]]:
    """An application over HTTP, and its port."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    server = uvicorn.Server(server_config(app, "127.0.0.1", port))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    try:
        yield server, port
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def served(stage: Stage, calls: int = 10_000, hops: int = 0) -> Iterator[str]:
    """The tools over HTTP, for requests that name this host."""
    options = Options(dict(stage.home("poster").environment), roles=frozenset({"poster"}))
    with running(make_app(options, ["127.0.0.1"], calls, hops)) as (_, port):
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.mark.parametrize("mode", MODES)
def test_http__whatever_it_was_started_with__reads_and_nothing_else(stage: Stage, mode: str) -> None:
    case = claim(stage)

    async def look(url: str) -> tuple[set[str], object]:
        async with McpClient(url, mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            return tools, (await client.call_tool("get_bounty", {"bounty_id": int(case.words[1])})).structured_content

    with served(stage) as url:
        tools, bounty = asyncio.run(look(url))
    assert tools == set(READING)
    assert isinstance(bounty, dict)
    assert bounty["escrow"]["base_units"] == str(ESCROW)


def test_http__by_another_host_or_too_often__is_refused(stage: Stage) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with served(stage, calls=3) as url:
        strange = urllib3.request("POST", url, body=hello, headers={**headers, "Host": "evil.example"}, retries=False)
        assert strange.status == 421
        statuses = [urllib3.request("POST", url, body=hello, headers=headers, retries=False).status for _ in range(4)]
    assert statuses[-1] == 429


def test_http__asked_for_a_stream__opens_none(stage: Stage) -> None:
    with served(stage) as url:
        answer = urllib3.request("GET", url, headers={"Accept": "text/event-stream"}, retries=False, timeout=10)
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")


def test_http__with_a_body_that_is_too_long__is_refused(stage: Stage) -> None:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with served(stage) as url:
        answer = urllib3.request("POST", url, body=b" " * 600_000, headers=headers, retries=False)
    assert answer.status == 413


def test_http__behind_proxies__has_a_budget_for_whom_the_outermost_own_one_saw(stage: Stage) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def status(url: str, forwarded: str | None) -> int:
        named = {} if forwarded is None else {"X-Forwarded-For": forwarded}
        return urllib3.request("POST", url, body=hello, headers={**headers, **named}, retries=False).status

    with served(stage, calls=2, hops=1) as url:
        one = [status(url, f"{written}, 198.51.100.1") for written in ("203.0.113.1", "203.0.113.2", "203.0.113.3")]
        assert one == [200, 200, 429], "what a caller wrote itself gives it no further budget"
        assert status(url, "198.51.100.2") == 200
        assert [status(url, None) for _ in range(3)] == [200, 200, 429], "past the proxies: the peer's"


@pytest.mark.parametrize(
    ("address", "networks"),
    [
        ("198.51.100.1", {"198.51.100.1": 1}),
        ("::ffff:198.51.100.1", {"198.51.100.1": 1}),
        ("2001:db8:1:203::7", {"2001:db8:1:203::/64": 1, "2001:db8:1:200::/56": 4, "2001:db8:1::/48": 16}),
        ("somebody", {"unknown": 1}),
    ],
)
def test_caller__in_ipv6__counts_for_the_networks_around_it(address: str, networks: dict[str, int]) -> None:
    assert dict(networks_of(address)) == networks


def test_http__from_many_addresses_of_one_ipv6_network__has_one_budget(stage: Stage) -> None:
    with served(stage, calls=2, hops=1) as url:
        statuses = [_hello(url, f"2001:db8::{number}") for number in range(3)]
    assert statuses == [200, 200, 429]


def _hello(url: str, forwarded: str) -> int:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    named = {"X-Forwarded-For": forwarded}
    return urllib3.request("POST", url, body=hello, headers={**headers, **named}, retries=False).status


@pytest.mark.parametrize("mode", MODES)
def test_http__of_somebody__asks_the_api_in_that_ones_name(stage: Stage, mode: str) -> None:
    """Past the proxies nobody has a budget at the API: whoever reads by this server would have none either."""

    async def look(url: str) -> None:
        headers = {"X-Forwarded-For": "203.0.113.1, 198.51.100.1"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            McpClient(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            await client.call_tool("find_bounties", {})
            await client.call_tool("my_status", {"accounts": [stage.ledger.people.poster.address]})

    with served(stage, hops=1) as url:
        stage.api.server.requests.clear()
        asyncio.run(look(url))
    asked = {request.headers.get("x-forwarded-for") for request in stage.api.server.requests}
    assert asked == {"198.51.100.1"}


def test_entrance__with_as_many_calls_as_it_answers__refuses_more_but_no_probe() -> None:
    statuses = list[object]()

    async def send(message: MutableMapping[str, object]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> MutableMapping[str, object]:
        return {"type": "http.request"}

    async def crowd() -> None:
        goes_on = asyncio.Event()

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            await goes_on.wait()
            await JSONResponse({})(scope, receive, send)

        entrance = Entrance(slow, Budgets(1_000), 0)

        def call(address: str, path: str = "/mcp") -> asyncio.Task[None]:
            scope = {"type": "http", "method": "POST", "path": path, "headers": [], "client": (address, 1)}
            return asyncio.create_task(entrance(scope, receive, send))

        callers = [f"198.51.100.{number}" for number in range(MOST_AT_ONCE // MOST_OF_ONE)]
        going = [call(caller) for caller in callers for _ in range(MOST_OF_ONE)]
        await asyncio.sleep(0)
        await call(callers[0])
        await call("198.51.100.200")
        assert statuses == [503, 503]
        going.append(call("10.0.0.1", HEALTH))
        goes_on.set()
        await asyncio.gather(*going)
        await call("198.51.100.200")
        assert statuses[2:] == [200] * (MOST_AT_ONCE + 2)

    asyncio.run(crowd())


def test_entrance__while_bodies_drip__answers_others_and_ends_those(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = list[tuple[str, object]]()

    async def crowd() -> None:
        entrance, drips = Entrance(JSONResponse({}), Budgets(1_000), 0), asyncio.Event()

        def call(address: str, *, whole: bool) -> asyncio.Task[None]:
            scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [], "client": (address, 1)}

            async def receive() -> MutableMapping[str, object]:
                if not whole:
                    await drips.wait()
                return {"type": "http.request", "body": b"{}"}

            async def send(message: MutableMapping[str, object]) -> None:
                if message["type"] == "http.response.start":
                    answered.append((address, message["status"]))

            return asyncio.create_task(entrance(scope, receive, send))

        callers = [f"198.51.100.{number}" for number in range(MOST_AT_ONCE)]
        dripping = [call(each, whole=False) for each in callers for _ in range(3)]
        await asyncio.sleep(0)
        await call("203.0.113.1", whole=True)
        await asyncio.gather(*dripping)

    monkeypatch.setattr(http, "BODY_SECONDS", 0.05)
    asyncio.run(crowd())
    assert answered[0] == ("203.0.113.1", 200)
    assert {status for _, status in answered[1:]} == {408}


def test_places__of_one_subscriber_with_a_large_network__leave_half_to_others() -> None:
    places, one = Places(MOST_AT_ONCE), [networks_of(f"2001:db8:0:{number:x}::1") for number in range(MOST_AT_ONCE)]
    with ExitStack() as stack:
        granted = [stack.enter_context(places.taken(each)) for each in one]
        assert granted.count(True) == MOST_AT_ONCE // 2
        assert stack.enter_context(places.taken(networks_of("198.51.100.1")))
    with places.taken(one[-1]) as is_free:
        assert is_free


def test_http__of_connections_without_a_request__ends_them_and_answers_the_probe(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "HEADERS_SECONDS", 0.2)
    with served(stage) as url, ExitStack() as stack:
        port = int(url.split(":")[2].split("/")[0])
        idle = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 30)) for _ in range(20)]
        for each in idle[:10]:
            each.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        assert urllib3.request("GET", url.replace("/mcp", HEALTH), retries=False).status == 200
        assert [each.recv(1) for each in idle] == [b""] * 20


@pytest.mark.parametrize("calls", [1, 2])
def test_http__whose_answers_nobody_reads__ends_the_connection(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """It would keep the answer, and for a second call its place."""
    begun, ended = list[str](), list[str]()

    async def answer_at_length(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            begun.append(scope["path"])
            await Response(bytes(16 * 1024 * 1024))(scope, receive, send)
            ended.append(scope["path"])

    monkeypatch.setattr(http, "HEADERS_SECONDS", 0.2)
    with running(answer_at_length) as (server, port), socket.create_connection(("127.0.0.1", port), 30) as unread:
        unread.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * calls)
        wait_until(lambda: len(begun) == calls and not server.server_state.connections)
        wait_until(lambda: len(ended) == calls)
    assert (len(begun), len(ended)) == (calls, calls)


def test_http__asked_for_its_health__answers_by_any_name_and_without_a_budget(stage: Stage) -> None:
    with served(stage, calls=1) as url:
        health = url.replace("/mcp", "/healthz")
        answers = [urllib3.request("GET", health, headers={"Host": "10.1.2.3:8080"}, retries=False) for _ in range(3)]
    assert [(each.status, each.json()) for each in answers] == [(200, {"status": "ok"})] * 3


def test_endpoints__of_a_file__are_the_first_one_and_all(tmp_path: Path) -> None:
    file = tmp_path / "urls"
    file.write_text("https://one.example/key, https://two.example\n")
    found = with_endpoints({"SERVICE_RPC_URLS_FILE": str(file)})
    assert found["SERVICE_RPC_URL"] == "https://one.example/key"
    assert found["SERVICE_RPC_URLS"] == "https://one.example/key,https://two.example"
    assert with_endpoints({"SERVICE_RPC_URL": "https://own.example"}) == {"SERVICE_RPC_URL": "https://own.example"}
    for path in (tmp_path / "gone", tmp_path):
        with pytest.raises(click.BadParameter, match="endpoint"):
            with_endpoints({"SERVICE_RPC_URLS_FILE": str(path)})


def test_http__of_a_deployment_that_is_not_known__does_not_start(tmp_path: Path) -> None:
    ran = subprocess.run(
        [PROGRAM, "--http", "127.0.0.1:8000", "--network", "84532"], env={"HOME": str(tmp_path)}, cwd=tmp_path,
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "SERVICE_HUB_ADDRESS" in ran.stderr
