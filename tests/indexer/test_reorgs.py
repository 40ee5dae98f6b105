"""Reorgs of a real node: retracted and re-applied whole above finality."""

from dataclasses import replace

import pytest
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BountyId
from service_common.db.hub_reads import read_bounty

from tests.clocks import HandClock
from tests.indexer.replay import contents, replayed
from tests.servers import DatabaseServer
from tests.world import World


def test_reorg__that_drops_a_submission__retracts_it(world: World, database_server: DatabaseServer) -> None:
    bounty_id = world.fund()
    world.finalize()
    world.submit(bounty_id, world.solver(1))
    world.index()
    assert len(contents(world.engine("service_indexer"))["submissions"]) == 1
    world.reorganize(1)
    world.index()
    after = contents(world.engine("service_indexer"))
    assert after["submissions"] == []
    assert after == replayed(world, database_server)


def test_bounty_id_created_again_is_the_new_one(world: World) -> None:
    bounty_id = world.fund()
    world.index()
    with world.engine("service_api").connect() as connection:
        before = read_bounty(connection, bounty_id)
    world.reorganize(1)
    assert world.fund() == bounty_id
    world.index()
    with world.engine("service_api").connect() as connection:
        after = read_bounty(connection, bounty_id)
    assert before is not None
    assert after is not None
    assert before.terms.spec_commitment != after.terms.spec_commitment
    assert before.changed_at.block_hash != after.changed_at.block_hash


@pytest.mark.spec(108, 109, 336, 375)
def test_unfinalized_facts_say_to_retry(world: World) -> None:
    world.node.mine(3)
    bounty_id = world.fund()
    world.index()
    source = world.facts()
    with pytest.raises(ServiceError) as refused, source.open() as facts:
        facts.bounty(bounty_id)
    assert refused.value.code == "bounty_chain_state_unavailable"
    assert refused.value.retry_after is not None
    late = replace(source, clock=HandClock(source.clock.now() + 1_200))  # no block became final meanwhile
    with pytest.raises(ServiceError) as halted, late.open() as facts:
        facts.bounty(bounty_id)
    assert halted.value.retry_after is not None
    assert refused.value.retry_after < 300 <= halted.value.retry_after
    world.finalize()
    with source.open() as facts:
        assert facts.bounty(bounty_id).bounty_id == bounty_id
        with pytest.raises(ServiceError) as unknown:
            facts.bounty(BountyId(999))
    assert unknown.value.code == "bounty_not_found"


@pytest.mark.parametrize(("age", "code"), [(2, "bounty_not_found"), (4, "bounty_projection_unavailable")])
def test_stopped_index_denies_no_bounty(world: World, age: int, code: str) -> None:
    """What was created since it stopped it cannot know; ``age`` is in seconds beyond a block's time."""
    world.index()
    source = world.facts()
    with source.open() as facts:
        newest = facts.head.block_time + facts.head.seconds_per_block
    late = replace(source, clock=HandClock(newest + age))
    with pytest.raises(ServiceError) as unknown, late.open() as facts:
        facts.bounty(BountyId(999))
    assert unknown.value.code == code
