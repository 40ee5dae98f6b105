"""One writer per chain, and a stale one writes nothing."""

import pytest
from service_common.chain.blocks import header_at
from service_indexer.follower import advance
from service_indexer.writer import AnotherWriter, FencedOut, Writer, only_writer

from tests.world import World


def test_second_writer__while_the_first_holds_the_lock__is_refused(world: World) -> None:
    engine, start = world.engine("service_indexer"), header_at(world.rpc, "latest")
    with pytest.raises(AnotherWriter), only_writer(engine, world.chain_id, world.hub_address, start):
        pass


def test_stale_writer__with_an_old_fencing_token__writes_nothing(world: World) -> None:
    stale = Writer(world.engine("service_indexer"), world.chain_id, world.hub_address, fence=0)
    world.node.mine(1)
    before = world.writer.head()
    with pytest.raises(FencedOut):
        advance(world.source, stale)
    assert world.writer.head() == before
    assert advance(world.source, world.writer) is True


def test_copy__of_another_hub__is_refused(world: World) -> None:
    from service_common.types import Address

    other = Address("0x" + "22" * 20)
    world.writer._engine.dispose()
    start = header_at(world.rpc, "latest")
    with (
        pytest.raises((AnotherWriter, ValueError)),
        only_writer(world.engine("service_indexer"), world.chain_id, other, start),
    ):
        pass
