"""The server as a process over stdio and over HTTP, in the newest protocol and in the one before."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import urllib3
from click.testing import CliRunner
from mcp import Client as McpClient
from mcp import StdioServerParameters
from service_mcp.main import main
from service_mcp.server import READING

from tests.cli.ledger import ESCROW
from tests.cli.scenes import Stage, claim

PROGRAM = Path(sys.executable).parent / "service-mcp"
MODES = ["legacy", "auto"]


def started(stage: Stage, *arguments: str) -> StdioServerParameters:
    home = stage.home("poster")
    (home.home / "mine").mkdir()
    return StdioServerParameters(command=str(PROGRAM), args=list(arguments), env=home.variables(), cwd=str(home.home))


@pytest.mark.nightly
@pytest.mark.parametrize("mode", MODES)
def test_roles_have_their_tools(stage: Stage, mode: str) -> None:
    async def names(*arguments: str) -> set[str]:
        async with McpClient(started(stage, *arguments), mode=mode) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    solver = ("--role", "solver", "--work-dir", "mine", "--pages", "https://pages.example")
    assert asyncio.run(names()) == set(READING)
    assert asyncio.run(names(*solver)) - set(READING) == {"prepare_submission", "prepare_claim", "carry_out"}


NOWHERE = dict.fromkeys(("SERVICE_RPC_URL", "SERVICE_API_BASE_URL"), "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--role", "solver"], 2, "--work-dir"),
        (["--role", "owner"], 2, "owner"),
        (["--account", "solver=0x1"], 2, "--account"),
        (["--role", "solver", "--work-dir", "/"], 1, "directory"),
        (["--role", "solver", "--work-dir", "gone"], 1, "Make one for this"),
        (["--role", "solver", "--work-dir", "mine", "--policy", "gone.toml"], 1, "policy"),
        (["--http", "127.0.0.1:9", "--role", "solver", "--work-dir", "mine"], 2, "leave --role and --work-dir away"),
        (["--allow-host", "a.example"], 2, "leave --allow-host away"),
        (["--policy", "policy.toml"], 2, "leave --policy away"),
        (["--network", "nope"], 1, "--network"),
        (["--network", "84532", "--http", "127.0.0.1:8000"], 1, "SERVICE_HUB_ADDRESS"),
        (["--http", "8000"], 2, "HOST:PORT"),
        (["--http", "127.0.0.1:65536"], 2, "HOST:PORT"),
        (["--http", "0.0.0.0:8000"], 2, "--allow-host"),
        (["--http", "[::]:8000"], 2, "--allow-host"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_impossible_command_ends_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    values: dict[str, str | None] = {**NOWHERE, "SERVICE_CHAIN_ID": "8453", "SERVICE_HUB_ADDRESS": "0x" + "ab" * 20}
    if "84532" in arguments:
        del values["SERVICE_HUB_ADDRESS"]
    ran = CliRunner().invoke(main, arguments, env={name: None for name in os.environ if "SERVICE_" in name} | values)
    assert (ran.exit_code, ran.stdout, words in ran.stderr) == (code, "", True), ran.stderr


@contextmanager
def served(stage: Stage) -> Iterator[str]:
    """The command over HTTP, for requests that name this host."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    names = ("--allow-host", "127.0.0.1", "--allow-host", "Agents.Example")
    command = started(stage, "--http", f"127.0.0.1:{port}", *names)
    with subprocess.Popen([command.command, *command.args], env=command.env, cwd=command.cwd) as process:
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(0.1)
                    assert process.returncode is None
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


@pytest.mark.parametrize("mode", MODES)
def test_http_reads_and_nothing_else(stage: Stage, mode: str) -> None:
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


def test_http_answers_its_own_names_and_short_bodies(stage: Stage) -> None:
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    kinds = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with served(stage) as url:
        for host, body, status in (
            ("evil.example", hello, 421),
            ("127.0.0.1", hello, 200),
            ("agents.EXAMPLE", hello, 200),
            ("AGENTS.example:443", hello, 200),
            ("127.0.0.1", " " * 600_000, 413),
        ):
            answer = urllib3.request("POST", url, body=body, headers={**kinds, "Host": host}, retries=False)
            assert answer.status == status, host
