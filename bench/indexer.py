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
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import urllib3
from bounty_protocol.types import BlockNumber, BountyId
from local_stack import anvil, postgres
from local_stack.anvil import AnvilServer
from local_stack.contract import Artifact, Contract, deploy
from local_stack.stack import running_stack
from local_stack.toolbox import ensure_npm_package
from service_indexer.follower import advance
from service_indexer.source import RpcSource

from bench.figures import Figure, Report, median
from bench.indexing.proofs import blooms
from tests.servers import Database, DatabaseServer
from tests.world import World, make_world

HERE: Final = Path(__file__).parent
CONTRACTS: Final = HERE.parent / "contracts"
SMALL, LARGE, BURST = 20_000, 200_000, 400
ROUNDS: Final = 3
TIP_BLOCKS: Final = 60


def run(report: Report) -> None:
    """Measure the group."""
    with _world() as (world, server):
        burst = _deploy_burst(world)
        bounty_id = world.create(seconds=2_000_000)
        world.finalize()
        small = _fill(world, burst, bounty_id, SMALL)
        large = _fill(world, burst, bounty_id, LARGE - SMALL)
        rounds = [(_copy(world, server, small), _copy(world, server, large)) for _ in range(ROUNDS)]
        whole = sorted((copy for _, copy in rounds), key=lambda copy: copy.seconds)[ROUNDS // 2]
        stored = whole.stored / whole.events
        report(Figure("indexer.event_bytes", stored, "bytes", "what an event takes in PostgreSQL", None))
        rate = whole.events / whole.seconds
        report(Figure("indexer.backfill", rate, "events/s", ">= 20000", rate >= 20_000))
        growth = median([long.per_event / short.per_event for short, long in rounds])
        report(Figure("indexer.cost_growth", growth, "ratio", "<= 1.1", growth <= 1.1))
        _reorg(world, report)
        _proof(world, server, small, report)
        report(Figure("indexer.rss", whole.peak, "MB", "<= 200", whole.peak <= 200))
    blooms(report)
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


@dataclass(frozen=True, slots=True)
class _Copy:
    """The cost of one copy of the chain, or of its beginning."""

    seconds: float
    peak: float
    """The most memory its process held, in MB."""
    events: int
    cpu: float
    calls: int
    """Queries of the node."""
    stored: int
    """The bytes it takes in PostgreSQL, indexes included."""

    @property
    def per_event(self) -> float:
        return self.seconds / self.events


def _copy(world: World, server: DatabaseServer, last: BlockNumber, proven: str = "on") -> _Copy:
    fresh = server.new()
    try:
        where = [fresh.url("service_indexer"), world.node.url, world.hub_address, str(world.chain_id)]
        blocks = [str(max(0, world.hub.deploy_block - 1)), str(last), proven]
        done = subprocess.run(
            [sys.executable, "-m", "bench.indexing.backfill", *where, *blocks],
            capture_output=True,
            text=True,
            check=True,
        )
        with fresh.engine("service_api").connect() as connection:
            events = connection.exec_driver_sql("SELECT count(*) FROM hub_index.logs").scalar_one()
        return _Copy(**json.loads(done.stdout), events=events, stored=fresh.index_bytes())
    finally:
        fresh.close()


def _proof(world: World, server: DatabaseServer, last: BlockNumber, report: Report) -> None:
    """The cost of proofs: in a backfill whose every block has 400 logs, and of new blocks with a log or none."""
    pairs = [(_copy(world, server, last, "on"), _copy(world, server, last, "off")) for _ in range(ROUNDS)]
    ratio = median([proven.cpu / plain.cpu for proven, plain in pairs])
    report(Figure("indexer.proof", ratio, "ratio", "<= 1.3 of the same without, in a backfill", ratio <= 1.3))
    proven, plain = pairs[0]
    calls, before = proven.calls / last, plain.calls / last
    report(Figure("indexer.proof_calls", calls, "calls/block", "informative", None, "without proofs", before))
    bounty_id = world.create(seconds=2_000_000)
    for name, logged in (("quiet", False), ("logged", True)):
        costs = {proven: _at_the_tip(world, bounty_id, logged=logged, proven=proven) for proven in (True, False)}
        report(Figure(f"indexer.proof_{name}", costs[True], "ms/block", "informative", None, "without", costs[False]))


def _at_the_tip(world: World, bounty_id: BountyId, *, logged: bool, proven: bool) -> float:
    """Milliseconds of the processor for each new block."""
    source, spent = RpcSource(world.rpc, world.hub_address, proven=proven), 0.0
    world.rpc.call("anvil_setBlockTimestampInterval", 1)
    world.index()
    for _ in range(TIP_BLOCKS):
        if logged:
            world.submit(bounty_id, world.solver(2))
        else:
            world.node.mine(1)
        began = time.process_time()
        advance(source, world.writer)
        spent += time.process_time() - began
    world.rpc.call("anvil_removeBlockTimestampInterval")
    return spent / TIP_BLOCKS * 1000


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
