"""Completion in a real shell, commands with colons included."""

import os
import subprocess
from pathlib import Path

from service_cli.main import COMMANDS

from tests.cli.kill import CLIENT
from tests.cli.terminal import Terminal
from tests.cli.ui.typed import typed


def test_completion_offers_every_command(shell: Terminal) -> None:
    assert all("_SERVICE_CLI_COMPLETE" in shell.run("completion", name).stdout for name in ("bash", "zsh", "fish"))
    environment = {
        **shell.variables(),
        "_SERVICE_CLI_COMPLETE": "zsh_complete",
        "COMP_WORDS": "service-cli ",
        "COMP_CWORD": "1",
    }
    done = subprocess.run([CLIENT], env=environment, capture_output=True, text=True, check=False)
    assert set(COMMANDS) <= set(done.stdout.replace("\\:", ":").split("\n"))


COMPLETED = {
    "service-cli poster:check not": "service-cli poster:check notes.md",
    "service-cli poster:new not": "service-cli poster:new notes.md",
    "service-cli solver:submit 7 wor": "service-cli solver:submit 7 work/",
    "service-cli poster:open-winning-submission 7 wor": "service-cli poster:open-winning-submission 7 work/",
    "service-cli guardian:verdict 7 awarded not": "service-cli guardian:verdict 7 awarded notes.md",
    "service-cli --network stag": "service-cli --network staging",
    "service-cli doctor --network stag": "service-cli doctor --network staging",
    "service-cli help guardian:heart": "service-cli help guardian:heartbeat",
    "service-cli guardian:heart": "service-cli guardian:heartbeat",
    "service-cli bounty:show not": "service-cli bounty:show not",
}


def test_bash_completes_files_and_networks(shell: Terminal, tmp_path: Path) -> None:
    """An interactive bash in a folder with a page and a folder."""
    scratch, here = tmp_path / "scratch", tmp_path / "here"
    for folder in (scratch, here, here / "work"):
        folder.mkdir()
    (here / "notes.md").touch()
    (scratch / "rc").write_text(shell.run("completion", "bash").stdout)
    environment = {**shell.variables(), "PATH": f"{Path(CLIENT).parent}{os.pathsep}{os.environ['PATH']}"}
    words = ["/bin/bash", "--noprofile", "--rcfile", str(scratch / "rc"), "-i"]
    with typed(words, environment, here, scratch) as bash:
        assert {line: bash.completed(line) for line in COMPLETED} == COMPLETED
