"""Children end with their owner, however it ends, and a failure names the child."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from local_stack.process import ChildFailed, Family, StopRule, minimal_environment
from local_stack.sentinel import session_members

from .conftest import Lair

Eventually = Callable[[Callable[[], bool]], bool]

STUBBORN = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for move in (lambda: None, os.setpgrp):
        if os.fork() == 0:
            move()
            signal.pause()
    print("ready", flush=True)
    time.sleep(600)
"""


def command(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path)


def test_child__its_whole_session__ends_with_stop(family: Family, tmp_path: Path, eventually: Eventually) -> None:
    rule = StopRule(grace=0.3)
    child = family.spawn(
        "stubborn", command(STUBBORN), environment=minimal_environment(tmp_path), cwd=tmp_path, rule=rule
    )
    family.wait(child, lambda: child.tail() == ["ready"], 10)
    assert eventually(lambda: len(session_members([child.pid])) == 3)

    family.stop()

    assert session_members([child.pid]) == []
    assert child.exit_status() == -signal.SIGKILL


def test_family__ranks__stop_services_before_servers(family: Family, tmp_path: Path) -> None:
    code = """
        import pathlib, signal, sys, time
        def stop(*_):
            pathlib.Path("order").open("a").write(sys.argv[1] + "\\n")
            sys.exit()
        signal.signal(15, stop); print("ready", flush=True)
        while True: time.sleep(600)
    """
    for name, rank in (("server", 0), ("service", 2), ("another-server", 0)):
        environment = minimal_environment(tmp_path)
        child = family.spawn(name, [*command(code), name], environment=environment, cwd=tmp_path, rank=rank)
        family.wait(child, lambda child=child: child.tail() == ["ready"], 10)  # type: ignore[misc]

    family.stop()

    assert (tmp_path / "order").read_text().split()[0] == "service"
    assert len((tmp_path / "order").read_text().split()) == 3


def test_wait__child_dies__names_it_with_its_last_lines(family: Family, tmp_path: Path) -> None:
    code = "import sys; [print(f'line {n}', flush=True) for n in range(40)]; sys.exit('the disk is full')"
    child = family.spawn("indexer", command(code), environment=minimal_environment(tmp_path), cwd=tmp_path)

    with pytest.raises(ChildFailed) as failure:
        family.wait(child, lambda: False, 10)
    family.stop()

    assert str(failure.value).startswith("indexer ended (exit status 1); its last log lines:\n")
    assert "the disk is full" in str(failure.value)
    assert "line 39" in str(failure.value)
    assert "line 5\n" not in str(failure.value)


def test_spawn__environment__is_exactly_what_was_given(family: Family, tmp_path: Path) -> None:
    family.run("env", ["/usr/bin/env"], environment={"ONLY": "this"}, cwd=tmp_path)
    family.stop()

    assert (tmp_path / "env.log").read_text() == "ONLY=this\n"


OWNER = """
    import sys, time
    from pathlib import Path
    from local_stack.process import minimal_environment
    from local_stack.runtime import Runtime
    runtime = Runtime()
    home = runtime.directory("home")
    command = [sys.executable, "-c", Path(sys.argv[1]).read_text()]
    child = runtime.family.spawn("stubborn", command, environment=minimal_environment(home), cwd=home)
    runtime.family.wait(child, lambda: child.tail() == ["ready"], 10)
    print(child.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_owner__killed__leaves_no_process_and_no_directory(
    lair: Lair, tmp_path: Path, eventually: Eventually, number: signal.Signals
) -> None:
    (tmp_path / "stubborn.py").write_text(textwrap.dedent(STUBBORN))
    with subprocess.Popen(
        [*command(OWNER), str(tmp_path / "stubborn.py")], env=lair.environment(), stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        session = int(owner.stdout.readline())
        assert eventually(lambda: len(session_members([session])) == 3)
        owner.send_signal(number)

    assert eventually(lambda: session_members([session]) == [])
    assert eventually(lambda: lair.leftovers() == ([], []))


def test_owner__and_sentinel_killed_together__direct_children_still_end(
    lair: Lair, tmp_path: Path, eventually: Eventually
) -> None:
    (tmp_path / "plain.py").write_text("import time; print('ready', flush=True); time.sleep(600)")
    with subprocess.Popen(
        [*command(OWNER), str(tmp_path / "plain.py")], env=lair.environment(), stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        session = int(owner.stdout.readline())
        sentinel = next(pid for pid, words in lair.processes().items() if "sentinel.py" in words)
        os.kill(sentinel, signal.SIGKILL)
        owner.kill()

    assert eventually(lambda: session_members([session]) == [])
