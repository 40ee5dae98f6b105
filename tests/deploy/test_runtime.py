"""The runtime directory and the ports: private, unshared, and gone afterwards."""

import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from local_stack import runtime as runtimes
from local_stack.ports import HOST, claim_port
from local_stack.process import Child, ChildFailed, User, minimal_environment, unprivileged_user
from local_stack.runtime import Runtime, running

from .conftest import Lair

LISTENER = """
import signal, socket, sys
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
signal.pause()
"""


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


def test_runtime__draft_of_a_starting_neighbour__is_left_alone(lair: Lair) -> None:
    young, old = lair.path / ".new-bounty-stack-young", lair.path / ".new-bounty-stack-old"
    for draft in (young, old):
        draft.mkdir()
    os.utime(old, (0, 0))

    with running():
        assert young.exists()
        assert not old.exists()


def test_temporary_base__private_to_root__another_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(private))
    monkeypatch.setattr(runtimes, "unprivileged_user", lambda: User(65534, 65534))
    assert runtimes.temporary_base() in {Path("/tmp"), Path("/var/tmp")}

    monkeypatch.setattr(runtimes, "unprivileged_user", lambda: None)
    assert runtimes.temporary_base() == private.resolve()


def test_unprivileged_user__only_for_root() -> None:
    user = unprivileged_user()

    assert (user is not None) == (os.geteuid() == 0)
    assert user is None or user.uid > 0


def test_ports__many_claims__are_distinct_and_free() -> None:
    claims = [claim_port() for _ in range(300)]

    assert len({claim.port for claim in claims}) == 300
    for claim in claims:
        with socket.create_server((HOST, claim.port)):
            claim.release()


def test_ports__claimed_here__is_refused_to_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    claim = claim_port()
    code = f"from local_stack import ports; print(ports._claimed({claim.port}))"
    command = [sys.executable, "-c", code]

    while_held = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    claim.release()
    afterwards = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert while_held == "None\n"
    assert afterwards.startswith("<socket")


def test_ports__somebody_listens__is_not_claimed() -> None:
    from local_stack import ports

    with socket.create_server((HOST, 0)) as listening:
        assert ports._claimed(listening.getsockname()[1]) is None


def spawn_listener(runtime: Runtime, port: int) -> Child:
    environment = minimal_environment(runtime.path)
    command = [sys.executable, "-c", LISTENER, str(port)]
    return runtime.family.spawn("listener", command, environment=environment, cwd=runtime.path)


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def test_start_listening__port_lost_to_a_stranger__takes_another(lair: Lair) -> None:
    strangers: list[socket.socket] = []

    with running() as runtime:

        def spawn(port: int) -> Child:
            if len(strangers) < 2:
                strangers.append(socket.create_server((HOST, port)))
            return spawn_listener(runtime, port)

        child, port = runtime.start_listening(
            spawn, lambda port: spoken(runtime).endswith("listening\n") and answers(port), timeout=10
        )

        assert child.exit_status() is None
        assert port not in {stranger.getsockname()[1] for stranger in strangers}
    for stranger in strangers:
        stranger.close()


def spoken(runtime: Runtime) -> str:
    return (runtime.logs / "listener.log").read_text()


def test_start_listening__fails_for_another_reason__is_not_repeated(lair: Lair) -> None:
    started = []

    with running() as runtime:

        def spawn(port: int) -> Child:
            started.append(port)
            command = [sys.executable, "-c", "import sys; sys.exit('no such data directory')"]
            return runtime.family.spawn("broken", command, environment={}, cwd=runtime.path)

        with pytest.raises(ChildFailed, match="no such data directory"):
            runtime.start_listening(spawn, lambda _: False, timeout=10)

    assert len(started) == 1
