"""One local stack for all end-to-end tests, everything real and nothing shortened but the windows."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from demo.bounty import Cast
from demo.examples import EXAMPLES
from local_stack.services import SERVICES
from local_stack.stack import StackSettings, running_stack

from tests.campaign import FULL
from tests.pages.driver import Browser, browsing

collect_ignore = [] if FULL else ["test_chain_halts.py", "test_safe_guardian.py", "test_service_gone.py"]
"""Minutes of their own, for the night."""
REPOSITORY = Path(__file__).parents[2]
ROLES = {"poster": "poster", "solver-1": "solver-3", "guardian-1": "guardian-1", "guardian-2": "guardian-2"}
"""Who plays whom in the script: a Solver of its own, since other tests compare what Solvers own."""


@pytest.fixture(scope="package")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    """The stack, ended with these tests: its clock runs in this process, where later tests have time stand still."""
    folder: Path = tmp_path_factory.mktemp("people")
    # Without the settler: a test settles over a silent roster itself, as anyone may.
    services = tuple(service for service in SERVICES if service.name != "settler")
    with running_stack(StackSettings(services=services, solvers=3)) as stack:
        yield Cast(stack, folder)
        stack.check()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="package")
def scripted(cast: Cast, tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[str]"]:
    """The script, begun with the first test: it waits in real time, beside the others, on the same machine's state."""
    folder = tmp_path_factory.mktemp("script")
    for role, name in ROLES.items():
        person = cast.person(name)
        values = dict(person.environment) | {"XDG_STATE_HOME": str(person.home / "state")}
        lines = [f"{key}={shlex.quote(value)}\n" for key, value in values.items()]
        (folder / f"{role}.env").write_text("".join(lines))
        (folder / f"{role}.env").chmod(0o600)
    programs = folder / "bin"
    programs.mkdir()
    if shutil.which("jq") is None:
        (programs / "jq").write_text(f'#!/bin/sh\nexec {sys.executable} {REPOSITORY}/tests/e2e/jq_program.py "$@"\n')
        (programs / "jq").chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    with subprocess.Popen(
        ["sh", str(EXAMPLES / "lifecycle.sh"), str(folder)],
        env={"PATH": path, "HOME": str(folder)}, cwd=folder, start_new_session=True, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as script:  # fmt: skip
        yield script
        with suppress(ProcessLookupError):
            os.killpg(script.pid, signal.SIGKILL)
