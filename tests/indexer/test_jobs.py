"""The follower's job, from its start to its end."""

from collections.abc import Callable, Iterator

import pytest
from bounty_protocol.types import BlockNumber
from service_common.db import hub_index as t
from service_common.db.engine import writing
from service_common.jobs import message
from service_indexer import jobs
from service_indexer.chain import RpcChain
from service_indexer.writer import AnotherWriter, CopyChange, Position, Writer
from sqlalchemy import delete

from tests.indexer.test_rebuild import variables
from tests.world import World


@pytest.fixture
def follow(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Runs the job for at most a second; the reason that it ended for."""
    for name, value in variables(world).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(jobs, "FOLLOW_SECONDS", 1)
    jobs.make_follower.cache_clear()
    yield lambda: jobs.follow(message())
    jobs.make_follower().engine.dispose()
    jobs.make_follower.cache_clear()


def test_follower_reaches_the_newest_block(world: World, follow: Callable[[], str]) -> None:
    world.node.mine(3)
    assert follow() == "time is up"
    assert world.head().block_number == world.tip()


def test_first_follower_begins_the_copy(world: World, follow: Callable[[], str]) -> None:
    with writing(world.engine("service_indexer")) as connection:
        for table in (*t.FACTS, t.changes, t.head):
            connection.execute(delete(table))
    assert follow() == "time is up"
    assert world.head().block_number == world.tip()


def test_follower_steps_aside_for_another_writer(
    world: World, follow: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    apply, before = Writer.apply, world.writer.position()
    assert before is not None

    def outrun(writer: Writer, position: Position, change: CopyChange) -> object:
        apply(world.writer, position, CopyChange())
        return apply(writer, position, change)

    monkeypatch.setattr(Writer, "apply", outrun)
    assert follow() == "AnotherWriter"
    monkeypatch.setattr(Writer, "apply", apply)
    assert follow() == "time is up"
    with pytest.raises(AnotherWriter):
        world.writer.apply(before, CopyChange())


def test_halted_follower_says_so(world: World, follow: Callable[[], str]) -> None:
    position = world.writer.position()
    assert position is not None
    world.writer.halt(position.version, "a reason")
    assert follow() == "Halted"


def test_begun_copy_needs_no_block_before_the_hub(
    world: World, follow: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Endpoints may have stopped showing it long ago."""
    header, first = RpcChain.header, BlockNumber(world.hub.deploy_block - 1)

    def forget(chain: RpcChain, number: BlockNumber) -> object:
        assert number != first
        return header(chain, number)

    monkeypatch.setattr(RpcChain, "header", forget)
    assert follow() == "time is up"
