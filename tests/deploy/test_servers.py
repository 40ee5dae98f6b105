"""The real servers: they start, refuse strangers, survive SIGKILL with their data, and leave nothing."""

import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber, Bytes32
from local_stack import anvil, gcs, postgres, valkey
from local_stack.runtime import Runtime, running

from .conftest import Lair


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    with running() as runtime:
        yield runtime


@pytest.fixture(scope="module")
def database(runtime: Runtime) -> Iterator[postgres.PostgresServer]:
    with postgres.start(runtime) as server:
        yield server


@pytest.fixture(scope="module")
def cache(runtime: Runtime) -> Iterator[valkey.ValkeyServer]:
    with valkey.start(runtime) as server:
        yield server


def arguments_of_everything(runtime: Runtime) -> bytes:
    return b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in runtime.family.members())


def test_secrets__of_all_servers__are_in_no_argument(
    runtime: Runtime, database: postgres.PostgresServer, cache: valkey.ValkeyServer
) -> None:
    arguments = arguments_of_everything(runtime)

    assert b"valkey-server" in arguments
    for secret in (database._password, cache._password):
        assert secret.encode() not in arguments
    assert stat.S_IMODE((runtime.path / "valkey/valkey.conf").stat().st_mode) == 0o600


def test_anvil__finality__is_two_blocks_behind(runtime: Runtime) -> None:
    with anvil.start(runtime, name="anvil-manual", mining="manual") as node:
        node.mine(10)
        heights = [header_at(node.rpc, tag).number for tag in ("latest", "safe", "finalized")]
        node.stop()

    assert heights == [10, 9, 8]


def test_anvil_gives_blocks_of_a_second_one_time(runtime: Runtime, eventually: Callable[..., bool]) -> None:
    with anvil.start(runtime, name="anvil-clock", mining="interval", durable=True) as node:
        assert eventually(lambda: tip(node)[0] >= 15)
        times = [header_at(node.rpc, BlockNumber(number)).time for number in range(1, 16)]
        assert times == sorted(times)
        assert len(set(times)) < len(times)

        with node.no_blocks():
            before = tip(node)
            time.sleep(3 * anvil.BLOCK_SECONDS)
            assert tip(node) == before
        assert eventually(lambda: tip(node)[0] > before[0])

        node.stop()
        node.restart()
        before = tip(node)
        assert eventually(lambda: tip(node)[0] > before[0])
        node.stop()


def tip(node: anvil.AnvilServer) -> tuple[BlockNumber, Bytes32]:
    """The newest block's number and hash."""
    block = header_at(node.rpc, "latest")
    return block.number, block.hash


@pytest.mark.nightly
def test_servers_leave_nothing(lair: Lair) -> None:
    with (
        postgres.start() as first,
        postgres.start() as second,
        valkey.start() as cache,
        valkey.start() as other,
        anvil.start() as chain,
        gcs.start() as storage,
    ):
        ports = {first.port, second.port, cache.port, other.port, chain.port, storage.port}
        assert len(ports) == 6
        assert len(lair.leftovers()[1]) == 6
        first.create_database("one")
        second.create_database("one")

    assert lair.leftovers() == ([], [])
    with pytest.raises(ChainUnavailable):
        chain.rpc.call("eth_chainId")
