"""Reorgs: retracted and re-applied whole above finality; below it, a loud halt."""

import random
from typing import Any

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from bounty_protocol.types import BountyId
from service_common.db import hub_index as t
from service_common.db.hub_reads import read_bounty, read_head
from service_indexer.follower import Halted, advance
from service_indexer.source import RpcSource
from sqlalchemy import update

from tests.endpoints import endpoint_before
from tests.indexer.replay import contents, replayed
from tests.servers import DatabaseServer
from tests.world import World


def test_reorg__that_drops_a_submission__retracts_it(world: World, database_server: DatabaseServer) -> None:
    bounty_id = world.create()
    world.finalize()
    world.submit(bounty_id, world.solver(1))
    world.index()
    assert len(contents(world.engine("service_indexer"))["submissions"]) == 1
    world.rpc.call("anvil_reorg", 1, [])
    world.index()
    after = contents(world.engine("service_indexer"))
    assert after["submissions"] == []
    assert after == replayed(world, database_server)


def test_reorg__that_recreates_the_same_bounty_id__shows_only_the_new_one(world: World) -> None:
    bounty_id = world.create()
    world.index()
    with world.engine("service_api").connect() as connection:
        before = read_bounty(connection, bounty_id)
    world.rpc.call("anvil_reorg", 1, [])
    world.people.poster.wallet.forget_nonce()
    world.open_bounties.clear()
    assert world.create() == bounty_id
    world.index()
    with world.engine("service_api").connect() as connection:
        after = read_bounty(connection, bounty_id)
    assert before is not None
    assert after is not None
    assert before.terms.spec_commitment != after.terms.spec_commitment
    assert before.changed_at.block_hash != after.changed_at.block_hash


def test_reorg_storm__of_random_depths__equals_a_fresh_replay_after_each(
    world: World, database_server: DatabaseServer
) -> None:
    dice = random.Random(20_261_120)
    bounty_id = world.create(seconds=100_000)
    world.finalize()
    world.node.mine(2)
    for _ in range(12):
        for _ in range(dice.randint(1, 2)):
            solver = world.solver(dice.randint(1, 3))
            solver.forget_nonce()
            world.submit(bounty_id, solver)
            if dice.random() < 0.5:
                world.index()
        world.rpc.call("anvil_reorg", 1, [])
        world.index()
        assert contents(world.engine("service_indexer")) == replayed(world, database_server)


def test_reorg__below_finality__halts_and_stays_halted(world: World) -> None:
    world.create()
    world.finalize()
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(t.blocks).values(hash="0x" + "11" * 32))
        connection.execute(update(t.head).values(block_hash="0x" + "11" * 32))
    with pytest.raises(Halted, match="rebuild the copy"):
        advance(world.source, world.writer)
    with world.engine("service_api").connect() as connection:
        head = read_head(connection, world.chain_id)
    assert head is not None
    assert head.halted is not None
    world.node.mine(1)
    with pytest.raises(Halted):
        advance(world.source, world.writer)


SHOWN = {
    "the copy's own blocks again": ("ba", "a", "a"),
    "a branch that the newest block is not of": ("bb", "b", "b"),
    "the beginning of such a branch": ("bb", "b", "-"),
    "no branch at all": ("bb", "a", "a"),
}
"""Which of two nodes answers each query for the copy's head and for the two blocks after it; "-": it has none."""


@pytest.mark.parametrize("shown", SHOWN)
def test_reorg__that_one_of_two_nodes_shows__is_none_before_the_newest_block_is_of_it(world: World, shown: str) -> None:
    world.node.mine(3)
    world.index()
    before = world.writer.head()
    assert before is not None
    first, last = before.block_number, before.block_number + 2

    def block(number: int) -> Any:
        return world.rpc.call("eth_getBlockByNumber", hex(number), False)

    world.node.mine(2)
    of_a = {number: block(number) for number in range(before.finalized_number, last + 1)}
    world.rpc.call("anvil_reorg", 3, [])  # to what the other node has
    nodes = {number: list(answers) for number, answers in enumerate(SHOWN[shown], first)}

    def change(method: str, params: list[Any], result: Any) -> Any:
        if method != "eth_getBlockByNumber":
            return result
        if params[0] in {"latest", "finalized"}:
            return of_a[last if params[0] == "latest" else before.finalized_number]
        number = int(params[0], 16)
        node = nodes[number].pop(0) if number in nodes else "b"
        return {"a": of_a.get(number), "b": result, "-": None}[node]

    with endpoint_before(world.node.url) as endpoint:
        source = RpcSource(Rpc([endpoint.url]), world.hub_address, proven=False)
        honest, endpoint.change = endpoint.change, change
        with pytest.raises(ChainUnavailable):
            advance(source, world.writer)
        assert world.writer.head() == before
        endpoint.change = honest
        assert advance(source, world.writer)
    after = world.writer.head()
    assert after is not None
    assert (after.block_hash, after.reorg_count) == (header_at(world.rpc, "latest").hash, before.reorg_count + 1)


def test_endpoint__that_is_behind_finality__is_distrusted_and_changes_nothing(world: World) -> None:
    world.finalize()
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(t.head).values(finalized_number=10_000))
    world.node.mine(1)
    with pytest.raises(ChainUnavailable, match="behind"):
        advance(world.source, world.writer)


@pytest.mark.spec(108, 109, 336, 375)
def test_facts__of_an_unfinalized_bounty__are_told_to_retry(world: World) -> None:
    from bounty_protocol.errors import ServiceError

    world.node.mine(3)
    bounty_id = world.create()
    world.index()
    source = world.facts()
    with pytest.raises(ServiceError) as refused, source.open() as facts:
        facts.bounty(bounty_id)
    assert refused.value.code == "bounty_chain_state_unavailable"
    assert refused.value.retry_after is not None
    world.finalize()
    with source.open() as facts:
        assert facts.bounty(bounty_id).bounty_id == bounty_id
        with pytest.raises(ServiceError) as unknown:
            facts.bounty(BountyId(999))
    assert unknown.value.code == "bounty_not_found"
