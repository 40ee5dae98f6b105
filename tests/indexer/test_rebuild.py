"""``service-indexer rebuild``: a new copy in the place of one that is wrong, halted or far behind."""

import pytest
from service_common.db import hub_index as t
from service_indexer.config import IndexerConfig, read_config
from service_indexer.rebuild import Behind, rebuild_copy
from service_indexer.writer import NoCopy
from sqlalchemy import Engine, delete, text, update

from tests.cli.servers import RpcProxy
from tests.indexer.replay import contents
from tests.world import World


def variables(world: World, *urls: str, quorum: int = 1) -> dict[str, str]:
    return {
        "SERVICE_CHAIN_ID": str(world.chain_id),
        "SERVICE_HUB_ADDRESS": world.hub_address,
        "SERVICE_DEPLOY_BLOCK": str(world.hub.deploy_block),
        "SERVICE_RPC_URLS": ",".join(urls or (world.node.url,)),
        "SERVICE_RPC_QUORUM": str(quorum),
        "SERVICE_DATABASE_URL": world.database.url("service_indexer"),
        "SERVICE_REDIS_URL": "redis://127.0.0.1:9",
    }


def config_of(world: World, *urls: str, quorum: int = 1) -> IndexerConfig:
    return read_config(variables(world, *urls, quorum=quorum))


def history(world: World) -> Engine:
    for _ in range(3):
        world.submit(world.fund(), world.solver(1))
    world.finalize()
    return world.engine("service_indexer")


ALTERED = {
    "row": "UPDATE hub_index.submissions SET submission_commitment = '0x' WHERE bounty_id = 2",
    "log": "DELETE FROM hub_index.logs WHERE bounty_id = 2",
    "bounty": "DELETE FROM hub_index.bounties WHERE bounty_id = 3",
    "halt": "UPDATE hub_index.head SET halted = 'a reason'",
    "final block": f"UPDATE hub_index.head SET finalized_hash = '0x{'11' * 32}'",
}


@pytest.mark.parametrize("altered", ALTERED)
def test_rebuild_puts_a_true_copy_in_place(world: World, altered: str) -> None:
    engine = history(world)
    before = contents(engine)
    with engine.begin() as connection:
        connection.execute(text(ALTERED[altered]))
    rebuilt = rebuild_copy(config_of(world), lambda _: None)
    assert rebuilt.block == world.tip()
    assert (rebuilt.differed_from is not None) is (altered == "log")
    assert contents(engine) == before
    head = world.head()
    assert head.halted is None
    world.fund()
    world.index()
    assert world.head().block_number == world.tip()


def test_rebuild_after_one_that_was_killed_begins_anew(world: World) -> None:
    engine = history(world)
    before = contents(engine)
    with engine.begin() as connection:
        columns = ", ".join(column.name for column in t.logs.c)
        connection.execute(text(f"INSERT INTO {t.SCRATCH}.logs ({columns}) SELECT {columns} FROM hub_index.logs"))
    rebuild_copy(config_of(world), lambda _: None)
    assert contents(engine) == before


def test_rebuild_takes_back_nothing_final_by_itself(world: World) -> None:
    engine = history(world)
    with engine.begin() as connection:
        connection.execute(update(t.head).values(finalized_number=100_000))
    with pytest.raises(Behind, match="--back"):
        rebuild_copy(config_of(world), lambda _: None)
    rebuild_copy(config_of(world), lambda _: None, back=True)
    assert world.head().finalized_number < 100_000


def test_rebuild_of_no_copy_is_refused(world: World) -> None:
    engine = history(world)
    with engine.begin() as connection:
        connection.execute(delete(t.head))
    with pytest.raises(NoCopy):
        rebuild_copy(config_of(world), lambda _: None)


def test_rebuild_by_a_quorum_leaves_out_no_log(world: World) -> None:
    engine = history(world)
    before = contents(engine)
    with RpcProxy(world.node.url) as one, RpcProxy(world.node.url) as other:
        one.after = lambda method, _params, result: result[:-1] if method == "eth_getLogs" else result
        rebuild_copy(config_of(world, one.url, other.url, world.node.url, quorum=2), lambda _: None)
    assert contents(engine) == before
