"""``service-indexer status``: how far the copy is, and how old that is."""

import time
from datetime import timedelta

import pytest
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_indexer.status import status_lines
from sqlalchemy import update

from tests.world import World


def lines(world: World) -> list[str]:
    with reading(world.engine("service_indexer")) as connection:
        return list(status_lines(connection, world.chain_id))


def change_head(world: World, **values: object) -> None:
    with writing(world.engine("service_indexer")) as connection:
        connection.execute(update(t.head).values(**values))


def test_copy_nobody_follows_says_since_when(world: World) -> None:
    change_head(world, updated_at=t.head.c.updated_at - timedelta(minutes=4, seconds=20))
    assert "0 blocks behind at its last check, 4 minutes ago" in lines(world)


def test_status_of_a_halted_copy_says_why(world: World) -> None:
    change_head(world, halted="a reason")
    assert lines(world)[-1] == "HALTED: a reason"


@pytest.mark.parametrize(("age", "still"), [(2, ""), (600, "; the chain itself has stopped")])
def test_status_says_whether_the_chain_stands_still(world: World, age: int, still: str) -> None:
    change_head(world, block_time=int(time.time()) - age)
    assert any(line.startswith("its newest block is from ") and line.endswith("ago" + still) for line in lines(world))
