"""kill -9 of the worker, PostgreSQL, Valkey and the node, and an emptied queue: nothing lost or doubled.

Six rounds by default, 50 in a campaign; SERVICE_CAMPAIGN_SEED repeats one.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import Address, ChainId
from local_stack import anvil, postgres, valkey
from local_stack.accounts import make_people
from local_stack.hub import RosterEntry, deploy_hub
from local_stack.process import Child, minimal_environment
from local_stack.runtime import Runtime, running
from service_common.db.engine import make_engine
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_reads import read_head
from service_common.jobs import connect
from service_indexer.chain import RpcChain
from service_indexer.writer import Writer

from tests.campaign import FULL, SEED
from tests.deployed import TERMS
from tests.indexer.replay import contents, replayed
from tests.servers import Database, DatabaseServer
from tests.world import World

ROUNDS = 50 if FULL else 6
PATIENCE_SECONDS = 60


@dataclass
class Indexer:
    """Two workers of the indexer over servers that can be killed."""

    runtime: Runtime
    server: postgres.PostgresServer
    redis: valkey.ValkeyServer
    node: anvil.AnvilServer
    databases: DatabaseServer
    database: Database
    world: World
    environment: dict[str, str]
    children: dict[str, Child]

    def start(self, name: str) -> None:
        self.children[name] = self.runtime.family.spawn(
            f"indexer-{name}",
            [Path(sys.executable).parent / "service-indexer", "worker"],
            environment=self.environment | {"SERVICE_INTERNAL_PORT": str(self.runtime.port())},
            cwd=self.runtime.logs,
        )

    def kill_process(self, name: str) -> None:
        self.runtime.family.end([self.children[name]], kill=True)
        self.start(name)

    def kill_server(self, server: object) -> None:
        server.kill()  # type: ignore[attr-defined]
        time.sleep(0.3)
        server.restart()  # type: ignore[attr-defined]

    def empty_queue(self) -> None:
        """Everything that Redis holds is gone."""
        with connect(self.redis.url()) as redis:
            redis.flushall()

    def victims(self) -> dict[str, Callable[[], None]]:
        return {
            "worker": lambda: self.kill_process("worker"),
            "other worker": lambda: self.kill_process("other"),
            "postgres": lambda: self.kill_server(self.server),
            "valkey": lambda: self.kill_server(self.redis),
            "node": lambda: self.kill_server(self.node),
            "queue": self.empty_queue,
        }

    def caught_up(self) -> None:
        """Wait until the copy is at a block that was the tip after this was called."""
        deadline, engine = time.monotonic() + PATIENCE_SECONDS, make_engine(self.database.url(), application="kills")
        wanted = header_at(self.world.rpc, "latest").number
        try:
            while time.monotonic() < deadline:
                try:
                    with engine.connect() as connection:
                        head = read_head(connection, self.world.chain_id)
                    if head is not None and head.block_number >= wanted and head.halted is None:
                        return
                except (DatabaseUnavailable, OSError):
                    pass
                time.sleep(0.1)
        finally:
            engine.dispose()
        raise AssertionError(f"not caught up with block {wanted}: {head}")


@pytest.fixture
def indexer() -> Iterator[Indexer]:
    with ExitStack() as stack:
        runtime = stack.enter_context(running())
        server = stack.enter_context(postgres.start(runtime))
        redis = stack.enter_context(valkey.start(runtime))
        # Finality far enough behind that a node killed between two snapshots of its state loses nothing final.
        node = stack.enter_context(anvil.start(runtime, mining="interval", slots_in_an_epoch=40, durable=True))
        node.mine()  # the copy starts above genesis, which anvil makes anew, with another hash, each time it starts
        databases = DatabaseServer.on(server)
        database = databases.new()
        people = make_people(solvers=3, guardians=3)
        hub = deploy_hub(
            node,
            owner=people.owner.wallet,
            fee_recipient=people.fee_recipient.wallet,
            guardians=[RosterEntry(g.wallet, g.identity.public_key) for g in people.guardians if g.identity],
            holders=[person.wallet for person in people.everyone()],
            terms=TERMS,
        )
        address = Address(hub.hub.address)
        environment = minimal_environment(runtime.logs) | {
            "SERVICE_CHAIN_ID": str(node.chain_id),
            "SERVICE_HUB_ADDRESS": hub.hub.address,
            "SERVICE_DEPLOY_BLOCK": str(hub.deploy_block),
            "SERVICE_RPC_URLS": node.url,
            "SERVICE_DATABASE_URL": database.url("service_indexer"),
            "SERVICE_REDIS_URL": redis.url(),
        }
        reader = Writer(database.engine("service_indexer"), ChainId(node.chain_id), address)
        world = World(node, people, Identity.generate(), hub, database, reader, RpcChain(Rpc([node.url]), address))
        made = Indexer(runtime, server, redis, node, databases, database, world, environment, {})
        for name in ("worker", "other"):
            made.start(name)
        made.caught_up()
        yield made
        database.close()


def submit_something(indexer: Indexer, dice: random.Random, bounty_id: int) -> None:
    """A Submission, whatever the node's last minute was like."""
    solver = indexer.world.solver(dice.randint(1, 3))
    solver.forget_nonce()
    indexer.world.submit(bounty_id, solver)  # type: ignore[arg-type]


def test_killed_indexer_equals_a_fresh_replay(indexer: Indexer) -> None:
    dice = random.Random(SEED)
    bounty_id = indexer.world.fund(seconds=100_000)
    victims = indexer.victims()
    order = [name for _ in range(-(-ROUNDS // len(victims))) for name in dice.sample(sorted(victims), len(victims))]
    for name in order[:ROUNDS]:
        submit_something(indexer, dice, bounty_id)
        time.sleep(dice.random())
        victims[name]()
        submit_something(indexer, dice, bounty_id)
    indexer.caught_up()
    for _ in range(20):  # the chain goes on while both are read: compare at a moment when neither moved
        before = contents(indexer.database.engine("service_indexer"))
        fresh = replayed(indexer.world, indexer.databases)
        if before == fresh:
            break
        time.sleep(0.2)
    assert before == fresh
    assert len(before["submissions"]) >= ROUNDS
    assert len(before["bounties"]) == 1
