"""SIGTERM while the follower works: it ends within seconds, once its job is done."""

import json
import signal
import time
from collections.abc import Iterator

import psycopg
import pytest
from local_stack.services import SERVICES
from local_stack.stack import DATABASE, Stack, StackSettings, running_stack

from tests.scraping import scrape
from tests.waiting import wait_until

GRACE_SECONDS = 10


@pytest.fixture
def stack() -> Iterator[Stack]:
    services = tuple(each for each in SERVICES if each.name == "indexer-worker")
    with running_stack(StackSettings(services=services)) as made:
        yield made


def indexed_block(stack: Stack) -> int:
    with psycopg.connect(stack.postgres.url(DATABASE)) as connection:
        row = connection.execute("SELECT block_number FROM hub_index.head").fetchone()
    return 0 if row is None else int(row[0])


def lag_of_the_index(stack: Stack) -> float | None:
    return scrape(stack.services["indexer-worker"].internal_port).value("service_index_lag_seconds")


def test_follower_terminated_drains(stack: Stack) -> None:
    began = indexed_block(stack)
    while indexed_block(stack) <= began:
        stack.check()
        time.sleep(0.05)
    worker = stack.services["indexer-worker"].child
    assert worker is not None
    wait_until(lambda: lag_of_the_index(stack) is not None)
    worker.send(signal.SIGTERM)
    ends = time.monotonic() + GRACE_SECONDS
    while worker.exit_status() is None and time.monotonic() < ends:
        time.sleep(0.05)
    assert worker.exit_status() == 0
    last = json.loads(worker.log_path.read_text().splitlines()[-1])
    assert last["event"] == "stopped"
