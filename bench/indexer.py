"""The indexer's figures: backfill, its growth with history, latency at the tip, a reorg, memory.

A real node is filled with real events of the Hub by a small contract that submits in bursts; the copy is made by the
indexer's own follower into a real PostgreSQL.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import urllib3
from local_stack import anvil, postgres
from local_stack.anvil import AnvilServer
from local_stack.contract import Artifact, Contract, deploy
from local_stack.stack import running_stack
from local_stack.toolbox import ensure_npm_package
from service_common.chain.blocks import header_at
from service_common.types import BlockNumber
from service_indexer.follower import advance
from service_indexer.writer import only_writer

from bench.figures import Figure, Report
from tests.servers import Database, DatabaseServer
from tests.world import World, make_world

HERE: Final = Path(__file__).parent
CONTRACTS: Final = HERE.parent / "contracts"
SMALL, LARGE, BURST = 20_000, 200_000, 400


def run(report: Report) -> None:
    """Measure the group."""
    with _world() as (world, server):
        burst = _deploy_burst(world)
        bounty_id = world.create(seconds=2_000_000)
        world.finalize()
        _fill(world, burst, bounty_id, SMALL)
        small, _ = _backfill(world, server, SMALL)
        _fill(world, burst, bounty_id, LARGE - SMALL)
        large, stored = _backfill(world, server, LARGE)
        report(Figure("indexer.event_bytes", stored / LARGE, "bytes", "what an event takes in PostgreSQL", None))
        rate = LARGE / large
        report(Figure("indexer.backfill", rate, "events/s", ">= 20000", rate >= 20_000))
        growth = (large / LARGE) / (small / SMALL)
        report(Figure("indexer.cost_growth", growth, "ratio", "<= 1.1", growth <= 1.1))
        _reorg(world, report)
        _rss(world, server, report)
    _tip_latency(report)


def _tip_latency(report: Report) -> None:
    """From a block that the node shows to the same block readable through the api's GraphQL, on a whole stack."""
    query, rounds = json.dumps({"query": "{ _meta { block { number } } }"}), []
    with running_stack() as stack:
        seen = stack.anvil.w3.eth.block_number
        for _ in range(20):
            while (block := stack.anvil.w3.eth.block_number) <= seen:
                time.sleep(0.002)
            started, seen = time.perf_counter(), block
            while _indexed(stack.common["SERVICE_SUBGRAPH_ENDPOINT"], query) < block:
                time.sleep(0.002)
            rounds.append((time.perf_counter() - started) * 1000)
    value = statistics.median(rounds)
    report(Figure("indexer.tip_latency", value, "ms", "<= 300", value <= 300))


def _indexed(endpoint: str, query: str) -> int:
    answer = urllib3.request("POST", endpoint, body=query, headers={"Content-Type": "application/json"})
    return int(answer.json()["data"]["_meta"]["block"]["number"])


def _rss(world: World, server: DatabaseServer, report: Report) -> None:
    """Peak memory of a process that makes the whole copy and holds nothing of this benchmark's own."""
    fresh = server.new()
    program = (
        "import sys\n"
        "from service_common.chain.blocks import header_at\n"
        "from service_common.chain.json_rpc import JsonRpc\n"
        "from service_common.db.engine import make_engine\n"
        "from service_indexer.follower import advance\n"
        "from service_indexer.source import RpcSource\n"
        "from service_indexer.writer import only_writer\n"
        "url, node, hub, chain, start = sys.argv[1:]\n"
        "rpc = JsonRpc([node])\n"
        "first = header_at(rpc, int(start))\n"
        "with only_writer(make_engine(url, application='bench'), int(chain), hub, first) as writer:\n"
        "    while advance(RpcSource(rpc, hub), writer): pass\n"
        "held = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(int(held.split()[1]) / 1024)\n"
    )
    arguments = [fresh.url("service_indexer"), world.node.url, world.hub_address, str(world.chain_id)]
    first = str(max(0, world.hub.deploy_block - 1))
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments, first], capture_output=True, text=True, check=True
    )
    fresh.close()
    peak = float(done.stdout)
    report(Figure("indexer.rss", peak, "MB", "<= 200", peak <= 200))


def _backfill(world: World, server: DatabaseServer, events: int) -> tuple[float, int]:
    """Seconds to make a new copy of the whole chain, and the bytes it takes, indexes included."""
    fresh = server.new()
    try:
        start = header_at(world.rpc, BlockNumber(max(0, world.hub.deploy_block - 1)))
        with only_writer(fresh.engine("service_indexer"), world.chain_id, world.hub_address, start) as writer:
            started = time.perf_counter()
            while advance(world.source, writer):
                pass
            seconds = time.perf_counter() - started
        with fresh.engine("service_api").connect() as connection:
            count = connection.exec_driver_sql("SELECT count(*) FROM hub_index.submissions").scalar_one()
        if count < events:
            raise RuntimeError(f"the copy holds {count} events of {events}")
        return seconds, fresh.index_bytes()
    finally:
        fresh.close()


def _reorg(world: World, report: Report) -> None:
    """A 64-block reorg repaired, from noticing it to the copy being at the new tip."""
    world.index()
    rounds = []
    for _ in range(5):
        world.rpc.call("anvil_mine", hex(70))
        world.index()
        world.rpc.call("anvil_reorg", 64, [])
        started = time.perf_counter()
        world.index()
        rounds.append((time.perf_counter() - started) * 1000)
    value = statistics.median(rounds)
    report(Figure("indexer.reorg", value, "ms", "<= 1000", value <= 1_000))


def _fill(world: World, burst: Contract, bounty_id: int, events: int) -> None:
    roster, wallet = bytes.fromhex(world.hub.roster_hash[2:]), world.people.solvers[0].wallet
    for _ in range(events // BURST):
        burst.send(wallet, "run", world.hub_address, bounty_id, roster, BURST, gas=28_000_000)
    world.node.mine(3)


def _deploy_burst(world: World) -> Contract:
    ensure_npm_package(CONTRACTS)
    request = {
        "language": "Solidity",
        "sources": {"burst.sol": {"content": (HERE / "burst.sol").read_text(encoding="utf-8")}},
        "settings": {
            "optimizer": {"enabled": True},
            "outputSelection": {"*": {"Burst": ["abi", "evm.bytecode.object"]}},
        },
    }
    done = subprocess.run(
        [str(CONTRACTS / "tools" / "solc"), "--standard-json"],
        input=json.dumps(request), capture_output=True, text=True, check=True,
    )  # fmt: skip
    compiled = json.loads(done.stdout)["contracts"]["burst.sol"]["Burst"]
    artifact = Artifact(compiled["abi"], bytes.fromhex(compiled["evm"]["bytecode"]["object"]))
    return deploy(world.node.w3, world.people.solvers[0].wallet, artifact)


@contextmanager
def _world() -> Iterator[tuple[World, DatabaseServer]]:
    with ExitStack() as stack:
        server = stack.enter_context(postgres.start())
        node: AnvilServer = stack.enter_context(anvil.start(mining="automine", slots_in_an_epoch=50))
        databases = DatabaseServer.on(server)
        database: Database = databases.new()
        yield stack.enter_context(make_world(node, database)), databases
        database.close()
