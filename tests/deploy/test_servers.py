"""The local servers: no secret of theirs can be read by other programs of the machine."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_stack import postgres, valkey
from local_stack.runtime import Runtime, running


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
