"""Children end with their owner, however it ends, and a failure names the child."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from local_stack.process import ChildFailed, Family, StackError, StopRule, minimal_environment
from local_stack.sentinel import session_members

from .conftest import REPOSITORY, Lair

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


def test_child__asked_nicely__ends_by_its_own_handler(family: Family, tmp_path: Path) -> None:
    code = "import signal, sys; signal.signal(15, lambda *_: sys.exit(7)); print('ready', flush=True); signal.pause()"
    child = family.spawn("polite", command(code), environment=minimal_environment(tmp_path), cwd=tmp_path)
    family.wait(child, lambda: child.tail() == ["ready"], 10)

    family.stop()

    assert child.exit_status() == 7


ENDS_AT_THE_SECOND = """
    import os, signal, sys, time
    counted = []
    signal.signal(15, lambda *_: counted.append(1) or (len(counted) == 2 and os._exit(2)))
    signal.pthread_sigmask(signal.SIG_BLOCK, [15])
    print("ready", flush=True)
    time.sleep(float(sys.argv[1]))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [15])
    while True: signal.pause()
"""


@pytest.mark.parametrize("deaf", [0, 0.5])
def test_child__asked_again__until_it_has_heard_twice(family: Family, tmp_path: Path, deaf: float) -> None:
    # What is sent while it is deaf, as a child on a busy machine is, is one signal to it. It ends at once: an
    # interpreter that takes its time has no handler any more, and a third signal would be what ended it.
    child = family.spawn(
        "worker",
        [*command(ENDS_AT_THE_SECOND), str(deaf)],
        environment=minimal_environment(tmp_path),
        cwd=tmp_path,
        rule=StopRule(ask_again=0.1, grace=10),
    )
    family.wait(child, lambda: child.tail() == ["ready"], 10)

    family.stop()

    assert child.exit_status() == 2


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


def test_end__after_stop__starts_nothing(family: Family, tmp_path: Path) -> None:
    child = family.spawn("api", command("import time; time.sleep(600)"), environment={}, cwd=tmp_path)
    family.stop()

    family.end([child], kill=True)

    assert family._sentinel is None
    assert child.exit_status() == -signal.SIGTERM


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


def test_check__child_killed_later__names_it(family: Family, tmp_path: Path, eventually: Eventually) -> None:
    child = family.spawn("api", command("import time; time.sleep(600)"), environment={}, cwd=tmp_path)
    family.check()
    os.kill(child.pid, signal.SIGKILL)
    assert eventually(lambda: child.exit_status() is not None)

    with pytest.raises(ChildFailed, match=r"^api ended \(signal SIGKILL\); its log is empty$"):
        family.check()
    family.stop()


def test_wait__never_ready__gives_up_at_the_deadline(family: Family, tmp_path: Path) -> None:
    child = family.spawn("slow", command("import time; time.sleep(600)"), environment={}, cwd=tmp_path)

    with pytest.raises(ChildFailed, match=r"^slow did not become ready within 0\.1 s"):
        family.wait(child, lambda: False, 0.1)
    family.stop()


def test_wait__checkpoint_raises__abandons_at_once(tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    started = time.monotonic()

    def checkpoint() -> None:
        if time.monotonic() - started > 0.3:
            raise Stopped

    family = Family(tmp_path, checkpoint=checkpoint)
    child = family.spawn("slow", command("import time; time.sleep(600)"), environment={}, cwd=tmp_path)

    with pytest.raises(Stopped):
        family.wait(child, lambda: False, 60)
    family.stop()

    assert time.monotonic() - started < 10
    assert session_members([child.pid]) == []


def test_spawn__no_such_program__is_one_line(family: Family, tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"^/nowhere/postgres cannot be started: "):
        family.spawn("postgres", ["/nowhere/postgres"], environment={}, cwd=tmp_path)
    family.stop()


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


def test_sentinel__owner_gone_before_it_starts__still_obeys(lair: Lair, eventually: Eventually) -> None:
    sentinel = REPOSITORY / "deploy/local/local_stack/sentinel.py"
    with subprocess.Popen(["/bin/sleep", "600"], start_new_session=True) as orphan:
        orders = f"remove {lair.path}/bounty-stack-x\nwatch {orphan.pid}\n"
        (lair.path / "bounty-stack-x").mkdir()
        nobody = "999999999"  # no such parent: as if the owner had died already
        subprocess.run([sys.executable, "-I", "-S", sentinel, nobody], input=orders, text=True, check=True)

        assert eventually(lambda: orphan.poll() == -signal.SIGKILL)
    assert lair.leftovers() == ([], [])


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
