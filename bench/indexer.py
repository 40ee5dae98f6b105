"""The indexer's figures: backfill, its growth with history, idle calls at any pace, lag, a reorg, memory.

A real node is filled with real events of the Hub by a small contract that submits in bursts; the copy is made by the
indexer's own follower into a real PostgreSQL.
"""

import json
import random
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import urllib3
from bounty_protocol.types import BlockNumber, ChainId
from local_stack import anvil, postgres
from local_stack.anvil import AnvilServer
from local_stack.contract import Artifact, Contract, deploy
from local_stack.stack import running_stack
from local_stack.toolbox import ensure_npm_package
from service_indexer.chain import RpcChain
from service_indexer.follower import Follower
from service_indexer.writer import Writer

from bench.figures import Figure, Report, median
from bench.indexing.backfill import backfill
from bench.indexing.made import HUB, CountingRpc, MadeHistory
from tests.servers import Database, DatabaseServer
from tests.world import World, make_world

HERE: Final = Path(__file__).parent
CONTRACTS: Final = HERE.parent / "contracts"
SMALL, LARGE, BURST = 20_000, 200_000, 400
ROUNDS: Final = 3
A_YEAR: Final = 158_000_000
"""Blocks of 0.2 s in a year."""
PACES: Final = (2, 0.2, 0.05)
IDLE_SECONDS: Final = 30


def run(report: Report) -> None:
    """Measure the group."""
    with _world() as (world, server):
        burst = _deploy_burst(world)
        bounty_id = world.fund(seconds=2_000_000)
        world.finalize()
        small = _fill(world, burst, bounty_id, SMALL)
        large = _fill(world, burst, bounty_id, LARGE - SMALL)
        rounds = [(_copy(world, server, small), _copy(world, server, large)) for _ in range(ROUNDS)]
        whole = sorted((copy for _, copy in rounds), key=lambda copy: copy.seconds)[ROUNDS // 2]
        report(Figure("indexer.event_bytes", whole.stored / whole.events, "bytes", "an event in PostgreSQL", None))
        rate = whole.events / whole.seconds
        report(Figure("indexer.backfill", rate, "events/s", ">= 20000", rate >= 20_000))
        growth = median([long.per_event / short.per_event for short, long in rounds])
        report(Figure("indexer.cost_growth", growth, "ratio", "<= 1.1", growth <= 1.1))
        _reorg(world, report)
        report(Figure("indexer.rss", whole.peak, "MB", "<= 150", whole.peak <= 150))
        _history(server, report)
        for pace in PACES:
            _idle(server, report, pace)
    _lag(report)


def _history(server: DatabaseServer, report: Report) -> None:
    """A year of blocks of 0.2 s with 100,000 logs, from a made endpoint: calls, and the time of all but the node."""
    for span in (2_000, 500):
        fresh, rpc = server.new(), MadeHistory(A_YEAR, A_YEAR // 100_000, span)
        writer = Writer(fresh.engine("service_indexer"), ChainId(1), HUB)
        follower = Follower(RpcChain(rpc, HUB), writer, BlockNumber(0))
        began = time.perf_counter()
        while follower.step():
            pass
        calls, seconds = rpc.calls, time.perf_counter() - began
        fresh.close()
        goal, is_met = ("<= 200000", calls <= 200_000) if span == 2_000 else ("informative", None)
        report(Figure(f"indexer.history_calls_{span}", calls, "calls", goal, is_met))
        report(Figure(f"indexer.history_seconds_{span}", seconds, "s", "informative", None))


def _idle(server: DatabaseServer, report: Report, pace: float) -> None:
    """What a follower of a chain with nothing new asks and writes, at a pace of blocks in seconds."""
    with anvil.start(mining="interval", block_time=pace, slots_in_an_epoch=16) as node:
        database = server.new()
        with make_world(node, database) as world:
            rpc = CountingRpc([node.url])
            follower = world.follower(RpcChain(rpc, world.hub_address), world.writer)
            node.mine(33)  # all facts are final
            while follower.step():
                pass
            rpc.calls = rpc.bytes = steps = 0
            began = time.perf_counter()
            while time.perf_counter() - began < IDLE_SECONDS:
                time.sleep(max(0.0, steps - (time.perf_counter() - began)))
                follower.step()
                steps += 1
            seconds = time.perf_counter() - began
            calls, size, rows = rpc.calls / seconds, rpc.bytes / seconds / 1_000, steps / seconds * 86_400
            name = f"indexer.idle_{pace:g}"
            report(Figure(f"{name}_calls", calls, "calls/s", "<= 2.5", calls <= 2.5))
            report(Figure(f"{name}_bytes", size, "kB/s", "<= 5", size <= 5))
            report(Figure(f"{name}_rows", rows, "rows/day", "<= 500000", rows <= 500_000))
        database.close()


def _lag(report: Report) -> None:
    """From a block that the node shows to the same block readable through the api's GraphQL, on a whole stack."""
    query, rounds = json.dumps({"query": "{ _meta { block { number } } }"}), []
    with running_stack() as stack:
        for _ in range(100):
            time.sleep(random.random())  # noqa: S311  # a step is no secret: at any moment of one
            block, started = stack.anvil.w3.eth.block_number, time.perf_counter()
            while _indexed(stack.common["SERVICE_SUBGRAPH_ENDPOINT"], query) < block:
                time.sleep(0.01)
            rounds.append(time.perf_counter() - started)
    half, most = median(rounds), sorted(rounds)[98]
    report(Figure("indexer.lag", half, "s", "<= 1.5", half <= 1.5))
    report(Figure("indexer.lag_p99", most, "s", "<= 3", most <= 3))


def _indexed(endpoint: str, query: str) -> int:
    answer = urllib3.request("POST", endpoint, body=query, headers={"Content-Type": "application/json"})
    return int(answer.json()["data"]["_meta"]["block"]["number"])


@dataclass(frozen=True, slots=True)
class _Copy:
    """The cost of one copy of the chain, or of its beginning."""

    seconds: float
    peak: float
    """The most memory its process held, in MB."""
    events: int
    stored: int
    """The bytes it takes in PostgreSQL, indexes included."""

    @property
    def per_event(self) -> float:
        return self.seconds / self.events


def _copy(world: World, server: DatabaseServer, last: BlockNumber) -> _Copy:
    fresh = server.new()
    try:
        where = (fresh.url("service_indexer"), world.node.url, world.hub_address, world.chain_id)
        first = BlockNumber(max(0, world.hub.deploy_block - 1))
        with ProcessPoolExecutor(1, get_context("spawn")) as own:
            seconds, peak = own.submit(backfill, *where, first, last).result()
        with fresh.engine("service_api").connect() as connection:
            events = connection.exec_driver_sql("SELECT count(*) FROM hub_index.logs").scalar_one()
        return _Copy(seconds, peak, events, fresh.index_bytes())
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
    value = median(rounds)
    report(Figure("indexer.reorg", value, "ms", "<= 1000", value <= 1_000))


def _fill(world: World, burst: Contract, bounty_id: int, events: int) -> BlockNumber:
    """Log that many more events; the block they end in."""
    roster, wallet = bytes.fromhex(world.hub.roster_hash[2:]), world.people.solvers[0].wallet
    for _ in range(events // BURST):
        burst.send(wallet, "run", world.hub_address, bounty_id, roster, BURST, gas=28_000_000)
    last = BlockNumber(world.node.w3.eth.block_number)
    world.node.mine(3)
    return last


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
