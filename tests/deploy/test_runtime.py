"""The runtime directory and the ports: private, unshared, and gone afterwards."""

import os
import socket
import stat

import pytest
from local_stack.ports import HOST, claim_port
from local_stack.runtime import Runtime, running

from .conftest import Lair


def test_runtime__stopped__is_gone_with_its_content(lair: Lair) -> None:
    with running() as runtime:
        runtime.secret("password", "s3cret")
        assert lair.leftovers()[1] == [runtime.path.name]

    assert lair.leftovers() == ([], [])


def test_runtime__modes__keep_others_out(lair: Lair) -> None:
    with running() as runtime:
        directory, secret = runtime.directory("data"), runtime.secret("password", "s3cret")

        assert stat.S_IMODE(runtime.path.stat().st_mode) == (0o711 if os.geteuid() == 0 else 0o700)
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        with pytest.raises(FileExistsError):
            runtime.secret("password", "another")


def test_runtime__owner_dead__is_removed_at_the_next_start(lair: Lair) -> None:
    dead = lair.path / "bounty-stack-dead"
    dead.mkdir()
    (dead / ".owner").touch()
    (dead / "data").mkdir()
    foreign = lair.path / "bounty-stack-file"
    foreign.write_text("not a directory")

    with running() as living, running() as second:
        assert not dead.exists()
        assert foreign.exists()
        assert living.path.exists()
        assert second.path.exists()


def test_ports__many_claims__are_distinct_and_free() -> None:
    claims = [claim_port() for _ in range(300)]

    assert len({claim.port for claim in claims}) == 300
    for claim in claims:
        with socket.create_server((HOST, claim.port)):
            claim.release()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def spoken(runtime: Runtime) -> str:
    return (runtime.logs / "listener.log").read_text()
