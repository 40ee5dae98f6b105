"""The server for agents: what a tool's call costs beside the API call beneath it, and how soon the server answers.

Processor time is of this process alone: the API's answers, of twenty bounties, come from another one. Starting is from
the process to its first answer, beside an interpreter that imports the SDK's server. Tokens are those of the tool list
as it is sent, counted by a tokenizer of the field.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from bounty_protocol.shapes import to_json
from bounty_protocol.types import BlockNumber, BountyId, Bytes32, TokenAmount
from bounty_protocol.wire.bounties import Block, BountyItem
from bounty_protocol.wire.deployment import CurrentFees, Deployment, HubLimits, TokenDescription
from bounty_protocol.wire.values import Finality
from local_stack.toolbox import find_npm
from mcp import Client, StdioServerParameters
from service_cli.api import api_of
from service_cli.library import settings_of
from service_mcp.server import READING, Options, make_server

from bench.figures import Figure, Report, median
from tests.vectors.samples import BEACON, CHAIN_ID, FACTS, HUB, POSTER, ROSTER

PROGRAM: Final = str(Path(sys.executable).parent / "service-mcp")
TOOLS: Final = Path(__file__).parents[1] / "tests/agents/tools.json"
COUNTER: Final = Path(__file__).parent / "javascript"
DEPLOYMENT: Final = Deployment(
    chain_id=CHAIN_ID,
    hub_address=HUB,
    escrow_token=TokenDescription(POSTER, "USDC", 6),
    fee_policy=CurrentFees(100, 300, POSTER),
    guardian_roster=ROSTER,
    limits=HubLimits(TokenAmount(1), 60, 3_600, 60, 3_600, 1, 1),
    reveal_delay_seconds=5,
    block_time_seconds=2.0,
    freshness_window_seconds=300,
    beacon=BEACON.info,
    public_host="bounties.example",
)
ROUNDS: Final = 9
CALLS: Final = 40


def run(report: Report) -> None:
    """Measure the group."""
    with _api() as url:
        values = _values(url)
        found, beneath = _finding(values)
        report(Figure("mcp.find", found, "ms CPU", "ratio <= 3", found / beneath <= 3, "the API call", beneath))
        _starting(report, values)
    _tokens(report)


def _finding(values: dict[str, str]) -> tuple[float, float]:
    """Milliseconds of processor time of one ``find_bounties``, and of the request it makes, read as JSON."""
    server, api = make_server(Options(values)), api_of(settings_of(values, needs=("SERVICE_API_BASE_URL",)))

    def beneath() -> None:
        for _ in range(CALLS):
            api.get("/api/bounties", {"accepting": "true", "sort": "newest", "limit": "20"}).json()

    async def call() -> None:
        for _ in range(CALLS):
            await server.call_tool("find_bounties", {"limit": 20})

    async def rounds() -> list[tuple[float, float]]:
        await call()
        found = []
        for _ in range(ROUNDS):
            began = time.process_time()
            await call()
            between = time.process_time()
            beneath()
            found.append((between - began, time.process_time() - between))
        return found

    found = asyncio.run(rounds())
    return tuple(median(list(each)) * 1000 / CALLS for each in zip(*found, strict=True))  # type: ignore[return-value]


def _starting(report: Report, values: dict[str, str]) -> None:
    ours, floor = [], []
    for _ in range(ROUNDS):
        ours.append(asyncio.run(_first_answer(values)))
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import mcp.server"], check=True)
        floor.append(time.perf_counter() - began)
    value, reference = median(ours) * 1000, median(floor) * 1000
    ok = value / reference <= 1.5
    report(Figure("mcp.start", value, "ms", "ratio <= 1.5", ok, "python -c 'import mcp.server'", reference))


async def _first_answer(values: dict[str, str]) -> float:
    with tempfile.TemporaryDirectory() as home:
        began = time.perf_counter()
        async with Client(StdioServerParameters(command=PROGRAM, env={**values, "HOME": home}, cwd=home)):
            return time.perf_counter() - began


def _tokens(report: Report) -> None:
    listed = json.loads(TOOLS.read_text(encoding="utf-8"))
    for figure, tools, most in (("mcp.tools", listed, 6_000), ("mcp.tools_reading", listed[: len(READING)], 3_000)):
        count = _count(json.dumps(tools, separators=(",", ":"), ensure_ascii=False))
        report(Figure(figure, count, "tokens", f"<= {most:,}", count <= most))


def _count(text: str) -> int:
    if not (COUNTER / "node_modules/gpt-tokenizer").exists():
        subprocess.run([*find_npm(), "ci", "--silent", "--ignore-scripts"], cwd=COUNTER, check=True)
    node = shutil.which("node") or "node"
    ran = subprocess.run(
        [node, "tokens.mjs"], cwd=COUNTER, input=text, capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    return int(ran.stdout)


@contextmanager
def _api() -> Iterator[str]:
    """An API in a process of its own that answers the list and the deployment."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_answer, args=(there,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.kill()
        process.join()


def _answer(ready: Connection) -> None:
    block = Block(BlockNumber(1), Bytes32("0x" + "11" * 32))
    items = [
        to_json(BountyItem(BountyId(n), FACTS, 3, Finality.FINALIZED, block, f"A parser, {n}", "Fast. " * 20))
        for n in range(1, 21)
    ]
    answers = {
        "/api/bounties": json.dumps({"items": items, "next_cursor": None}).encode(),
        "/api/deployment": json.dumps(to_json(DEPLOYMENT)).encode(),
    }

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the name http.server calls
            body = answers[self.path.partition("?")[0]]
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    ready.send(server.server_port)
    server.serve_forever()


def _values(url: str) -> dict[str, str]:
    return {
        "SERVICE_CHAIN_ID": str(DEPLOYMENT.chain_id),
        "SERVICE_HUB_ADDRESS": DEPLOYMENT.hub_address,
        "SERVICE_ESCROW_TOKEN_ADDRESS": DEPLOYMENT.escrow_token.address,
        "SERVICE_RPC_URL": url,
        "SERVICE_API_BASE_URL": url,
        "SERVICE_SUBGRAPH_ENDPOINT": f"{url}/subgraph",
        "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": "5",
    }
