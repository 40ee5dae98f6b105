"""The stack's command: one line when ready, everything gone afterwards, whatever happened in between.

The whole service is not started here (the end-to-end tests do that); its processes are stopped the same way.
"""

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from local_stack.runtime import remove_stale
from local_stack.services import SERVICES

from .conftest import Lair

Eventually = Callable[[Callable[[], bool]], bool]


def up(lair: Lair, env_file: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "local_stack", "up", "--servers-only", "--env-file", str(env_file), *options]
    return subprocess.Popen(
        command, env=lair.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=env_file.parent
    )


def ready_line(stack: subprocess.Popen[str]) -> dict[str, object]:
    assert stack.stdout is not None
    line = stack.stdout.readline()
    assert line, stack.communicate()[1]
    event = json.loads(line)
    assert isinstance(event, dict)
    return event


def test_terminated_stack_leaves_nothing(lair: Lair, tmp_path: Path) -> None:
    env_file = tmp_path / "stack.env"
    with up(lair, env_file) as stack:
        event = ready_line(stack)
        text, private = env_file.read_text(), stat.S_IMODE(env_file.stat().st_mode)
        roles = sorted(path.name for path in (tmp_path / "stack").iterdir())
        arguments = b"".join(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in lair.processes())
        with up(lair, env_file) as second:
            _, refusal = second.communicate(timeout=30)
        stack.send_signal(signal.SIGTERM)
        output, words = stack.communicate(timeout=30)

    assert second.returncode == 1
    assert refusal == "stack: another stack is using stack.env; name another file with --env-file\n"
    assert stack.returncode == 0, words
    assert output == ""
    assert event["event"] == "stack.ready"
    assert event["env_file"] == str(env_file)
    for name in ("HUB_ADDRESS", "ESCROW_TOKEN_ADDRESS", "RPC_URL", "API_BASE_URL", "SUBGRAPH_ENDPOINT"):
        assert f"SERVICE_{name}='{event[name.lower()]}'\n" in text
    assert private == 0o600
    people = (
        *("poster", "solver-1", "solver-2", "guardian-1", "guardian-2", "guardian-3"),
        *("owner", "fee-recipient", "settler"),
    )
    folders = [name for name in people if name not in {"owner", "settler"}]
    assert roles == sorted([*folders, *(f"{name}.env" for name in people)])
    secrets = [line.partition("'")[2].rstrip("'\n") for line in text.splitlines() if "_PRIVATE_KEY" in line]
    assert len(secrets) > 10
    assert not any(secret.encode() in arguments or secret in json.dumps(event) for secret in secrets)
    assert lair.leftovers() == ([], [])
    assert list(tmp_path.iterdir()) == []


def test_stack_whose_server_dies_names_it(lair: Lair, tmp_path: Path) -> None:
    with up(lair, tmp_path / "stack.env") as stack:
        ready_line(stack)
        victim = next(pid for pid, words in lair.processes().items() if "bin/anvil" in words)
        os.kill(victim, signal.SIGKILL)
        _, words = stack.communicate(timeout=30)

    assert stack.returncode == 1
    assert "stack: anvil ended (signal SIGKILL); its l" in words
    assert lair.leftovers() == ([], [])


@pytest.mark.nightly
def test_killed_stack_leaves_no_process(lair: Lair, tmp_path: Path, eventually: Eventually) -> None:
    seed = random.SystemRandom().randrange(2**32)
    moments = sorted(random.Random(seed).uniform(0.3, 4.0) for _ in range(4))
    stacks = [up(lair, tmp_path / f"stack-{number}.env") for number in range(4)]
    started = time.monotonic()
    for stack, delay in zip(stacks, moments, strict=True):
        time.sleep(max(0.0, started + delay - time.monotonic()))
        stack.kill()
        stack.communicate()

    assert eventually(lambda: lair.processes() == {}), f"seed {seed}: {lair.processes()}"
    remove_stale(lair.path)
    assert lair.leftovers() == ([], []), f"seed {seed}"


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-m", "local_stack", "up", "--servers-only",
                          "--env-file", *sys.argv[1:]], stdout=sys.stdout)
child.wait()
"""


@pytest.mark.nightly
def test_stack__its_parent_killed__stops(lair: Lair, tmp_path: Path, eventually: Eventually) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "stack.env")],
        env=lair.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        ready_line(parent)
        parent.kill()

    assert eventually(lambda: lair.leftovers() == ([], []))
    assert list(tmp_path.iterdir()) == []


def test_services__secrets__are_never_variables() -> None:
    for process in SERVICES:
        assert not {name for name in process.variables if "PRIVATE_KEY" in name or "CREDENTIALS" in name}
        assert not set(process.variables) & set(process.secrets)
        assert ("SERVICE_DELIVERY_PRIVATE_KEYS" in process.secrets) == process.name.startswith("delivery")
