"""``verify`` and ``rebuild``: the copy against the chain, and a new copy in its place."""

from service_common.chain.settings import ChainSettings
from service_common.db import hub_index as t
from service_common.types import BlockNumber
from service_indexer.replay import rebuild_copy, verify_copy
from sqlalchemy import Engine, func, select, text

from tests.indexer.replay import contents
from tests.world import World


def settings_of(world: World) -> ChainSettings:
    deploy = BlockNumber(world.hub.deploy_block)
    return ChainSettings(world.chain_id, world.hub_address, deploy, 2.0, (world.node.url,))


def history(world: World) -> Engine:
    for _ in range(3):
        world.submit(world.create(), world.solver(1))
    world.finalize()
    return world.engine("service_indexer")


def scratch_rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(f"SELECT count(*) FROM {t.SCRATCH}.logs")).scalar_one())


def test_verify__of_a_true_copy__finds_every_table_equal_and_leaves_nothing(world: World) -> None:
    engine = history(world)
    before = contents(engine)
    compared = verify_copy(engine, settings_of(world), lambda _: None)
    assert {each.table for each in compared} == {table.name for table in t.FACTS}
    assert all(each.equal for each in compared)
    assert sum(each.rows for each in compared) == sum(len(before[table.name]) for table in t.FACTS)
    assert contents(engine) == before
    assert scratch_rows(engine) == 0


def test_verify__of_a_copy_with_one_altered_row__names_its_table(world: World) -> None:
    engine = history(world)
    with engine.begin() as connection:
        connection.execute(text("UPDATE hub_index.submissions SET submission_commitment = '0x' WHERE bounty_id = 2"))
    compared = verify_copy(engine, settings_of(world), lambda _: None)
    assert [each.table for each in compared if not each.equal] == ["submissions"]


def test_rebuild__of_a_halted_and_altered_copy__puts_the_chains_truth_in_its_place(world: World) -> None:
    engine = history(world)
    truth = contents(engine)
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM hub_index.bounties"))
        connection.execute(text("UPDATE hub_index.head SET halted = 'by a test'"))
    world.writer_lock.close()
    block = rebuild_copy(engine, settings_of(world), lambda _: None)
    assert contents(engine) == truth
    assert scratch_rows(engine) == 0
    with engine.connect() as connection:
        head = connection.execute(select(t.head)).one()
        kept = connection.execute(select(func.max(t.blocks.c.number))).scalar()
    assert head.halted is None
    assert head.block_number == block == kept
