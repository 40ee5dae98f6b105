"""The checks beside the follower: one that fails ends no other, and none holds up the end of the job."""

import threading
from threading import Event

import pytest
from service_common.db import hub_index as t
from service_indexer import checking
from service_indexer.checking import Checking
from service_indexer.vouching import vouch
from sqlalchemy import Engine, delete, select, update

from tests.indexer.test_replay import config_of
from tests.providers import provider_before
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


@pytest.mark.usefixtures("at_once")
def test_checks__that_an_endpoint_holds_up__do_not_hold_up_the_end_of_the_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.finalize()
    monkeypatch.setattr(checking, "LAST_SECONDS", 0.1)
    with provider_before(world.node.url) as hanging:
        hanging.hang("eth_getLogs")
        with Checking(config_of(world, hanging.url)):
            wait_until(lambda: hanging.requests > 0)
        assert goes_on(), "it waits for an answer, and nobody for it"
    wait_until(lambda: not goes_on())


def goes_on() -> bool:
    return any(thread.name == "checking" for thread in threading.enumerate())
