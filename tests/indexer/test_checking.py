"""The checks beside the follower: one that fails ends no other."""

from threading import Event

import pytest
from service_common.db import hub_index as t
from service_indexer import checking
from service_indexer.checking import Checking
from service_indexer.vouching import vouch
from sqlalchemy import Engine, delete, select, update

from tests.indexer.test_replay import config_of
from tests.waiting import wait_until
from tests.world import World


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits before it is checked."""
    monkeypatch.setattr(checking, "PAUSE_SECONDS", 0.01)


def compared_until(engine: Engine) -> int:
    with engine.connect() as connection:
        row = connection.execute(select(t.head)).one()
    return int(max(row.compare_new, row.compare_next))


@pytest.mark.usefixtures("at_once")
def test_checks__of_which_one_fails__go_on_with_the_others(world: World) -> None:
    world.submit(world.create(), world.solver(1))
    world.finalize()
    engine = world.engine("service_indexer")
    with engine.begin() as connection:
        connection.execute(update(t.proofs).values(since=t.proofs.c.number))  # to be vouched for
        connection.execute(delete(t.rosters))
    with pytest.raises(KeyError):
        vouch(engine, world.chain_id, Event())
    with Checking(config_of(world)):
        wait_until(lambda: compared_until(engine) > 0)
