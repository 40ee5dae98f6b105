"""A whole bounty by a shell script: whatever a step needs is read by jq from the JSON lines of an earlier one."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from demo.bounty import Cast
from demo.examples import EXAMPLES

pytestmark = pytest.mark.nightly
ROLES = {"poster": "poster", "solver-1": "solver-3", "guardian-1": "guardian-1", "guardian-2": "guardian-2"}
"""Who plays whom: a Solver of its own, since other tests compare what Solvers own."""


@pytest.mark.spec(337)
def test_lifecycle_by_client_and_jq_pays_the_winner(cast: Cast, tmp_path: Path) -> None:
    for role, name in ROLES.items():
        person = cast.person(name)
        values = dict(person.environment) | {"XDG_STATE_HOME": str(person.home / "state")}
        (tmp_path / f"{role}.env").touch(mode=0o600)
        (tmp_path / f"{role}.env").write_text("".join(f"{key}={shlex.quote(text)}\n" for key, text in values.items()))
    programs = tmp_path / "bin"
    programs.mkdir()
    if shutil.which("jq") is None:
        program = Path(__file__).with_name("jq_program.py")
        (programs / "jq").write_text(f'#!/bin/sh\nexec {sys.executable} {program} "$@"\n')
        (programs / "jq").chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    script = subprocess.run(
        ["sh", str(EXAMPLES / "lifecycle.sh"), str(tmp_path)], env={"PATH": path, "HOME": str(tmp_path)},
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert script.returncode == 0, script.stderr
    told = json.loads(script.stdout)
    winner = cast.address(ROLES["solver-1"])
    assert told == {"bounty_id": told["bounty_id"], "winner": winner, "paid": "24000000"}
    audited = cast.person("solver-2").audit(told["bounty_id"])
    assert audited.event("audit.finished").fields["differences"] == 0
