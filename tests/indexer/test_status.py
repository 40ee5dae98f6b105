"""``service-indexer status``: how far the copy is, how old that is, and what is known of those who add to it."""

import re
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from bounty_protocol.chain.endpoints import Endpoints
from local_stack.valkey import ValkeyServer
from redis import Redis
from service_common.db import hub_index as t
from service_common.db.engine import reading, writing
from service_common.jobs import connect
from service_common.newest_block import newest_key
from service_indexer.conduct import CONDUCT_SECONDS, conduct_key, conduct_of
from service_indexer.status import ago, status_lines
from sqlalchemy import update

from tests.world import World


@pytest.fixture
def redis(valkey_server: ValkeyServer) -> Iterator[Redis]:
    connection = connect(valkey_server.url())
    yield connection
    connection.flushall()
    connection.close()


def lines(world: World, redis: Redis) -> list[str]:
    with reading(world.engine("service_indexer")) as connection:
        return list(status_lines(connection, redis, world.chain_id))


def test_status__of_a_copy_that_stands_still__says_how_long_and_which_endpoint_fails(
    world: World, redis: Redis
) -> None:
    with writing(world.engine("service_indexer")) as connection:
        connection.execute(update(t.head).values(updated_at=t.head.c.updated_at - timedelta(minutes=4, seconds=20)))
    endpoints = Endpoints(["https://one.example/secret-key", "https://two.example/secret-key"])
    for _ in range(3):
        endpoints.failed(endpoints.all[0])
    endpoints.succeeded(endpoints.all[1], prefer=True)
    redis.set(conduct_key(world.chain_id), conduct_of(endpoints), ex=CONDUCT_SECONDS)
    said = lines(world, redis)
    assert "behind by 0 blocks when it moved last, 4 minutes ago" in said
    assert [line for line in said if line.startswith("endpoint")] == [
        "endpoint 1 has not answered since: it failed 3 times in a row"
    ]
    assert "secret-key" not in "".join(said)


def test_status__without_a_follower__says_so(world: World, redis: Redis) -> None:
    assert f"no follower has given a sign of life for {CONDUCT_SECONDS} seconds" in lines(world, redis)


def test_status__without_redis__says_the_rest(world: World) -> None:
    said = lines(world, connect("redis://127.0.0.1:1/0"))
    assert said[0].startswith("block ")
    assert said[-1].startswith("Redis does not answer")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "just now"),
        (1, "1 second ago"),
        (59.9, "59 seconds ago"),
        (60, "1 minute ago"),
        (7_199, "1 hour ago"),
        (200_000, "2 days ago"),
    ],
)
def test_age__is_in_its_largest_unit(seconds: float, said: str) -> None:
    assert ago(seconds) == said


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (2, r"the chain's newest block is of \d seconds ago"),
        (600, r"the chain's newest block is of 10 minutes ago; the chain itself stands still"),
    ],
)
def test_status__of_a_chain__says_how_old_its_newest_block_is(world: World, redis: Redis, age: int, said: str) -> None:
    redis.set(newest_key(world.chain_id), int(time.time()) - age)
    assert [line for line in lines(world, redis) if re.fullmatch(said, line)]


def test_status__without_an_endpoint_that_answers__says_nothing_of_the_chain(world: World, redis: Redis) -> None:
    assert "newest block is of" not in "".join(lines(world, redis))
