"""The message of what became final: sent in little time, or counted and forgotten."""

import socket
import time
from collections.abc import Iterator

import pytest
from bounty_protocol.types import BlockNumber
from local_stack import valkey
from local_stack.runtime import running
from redis import Redis
from service_common.endings import KEEP_FINAL, connect_to_tell, tell_final
from service_common.jobs import message, open_queue

RANGE = (BlockNumber(7), BlockNumber(9))


@pytest.fixture
def server() -> Iterator[valkey.ValkeyServer]:
    with running() as runtime, valkey.start(runtime) as made:
        yield made


def test_message_names_blocks_and_no_fact(server: valkey.ValkeyServer) -> None:
    redis = connect_to_tell(server.url(0))
    assert tell_final(redis, *RANGE)
    (job,) = open_queue(KEEP_FINAL.queue, Redis.from_url(server.url(0))).jobs
    assert (job.func_name, *job.args) == (KEEP_FINAL.function, message(first_block=7, last_block=9))
    server.stop()
    assert not tell_final(redis, *RANGE)


def test_silent_server_costs_little_and_fails_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        redis, began = connect_to_tell(f"redis://127.0.0.1:{silent.getsockname()[1]}"), time.monotonic()
        assert not tell_final(redis, *RANGE)
        print(f"{time.monotonic() - began:.3f} s")
