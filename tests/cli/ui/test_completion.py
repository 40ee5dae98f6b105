"""Completion in a real shell, commands with colons included."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_cli.main import COMMANDS

from tests.cli.kill import CLIENT
from tests.cli.terminal import Terminal
from tests.cli.ui.typed import TypedShell, typed


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion__for_a_shell__prints_its_script(shell: Terminal, shell_name: str) -> None:
    assert "_SERVICE_CLI_COMPLETE" in shell.run("completion", shell_name).stdout


def test_completion__in_bash__completes_commands_with_colons(shell: Terminal) -> None:
    script = shell.home / "complete.bash"
    script.write_text(shell.run("completion", "bash").stdout)
    program = (
        f'before=$COMP_WORDBREAKS; source {script}; complete_it() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_service_cli_completion service-cli; printf "%s\\n" "${COMPREPLY[@]}"; }; '
        "complete_it service-cli guardian : d; complete_it service-cli guardian :; complete_it service-cli poster:n; "
        '[[ $before == "$COMP_WORDBREAKS" ]] && echo kept; COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}; '
        "complete_it service-cli guardian:d"
    )
    path = f"{Path(CLIENT).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**shell.variables(), "PATH": path}
    done = subprocess.run(["/bin/bash", "-c", program], env=environment, capture_output=True, text=True, check=False)
    told = done.stdout.split()
    after_colon = [name.removeprefix("guardian:") for name in COMMANDS if name.startswith("guardian:")]
    assert told == ["deliver-key", *after_colon, "new", "kept", "guardian:deliver-key"], done.stderr


@pytest.mark.parametrize("line", ["nonsense ", "nonsense --", "--network local ", f"claim {'ab' * 32} --", "help no "])
def test_completion__after_what_is_no_command__offers_nothing_and_prints_no_error(shell: Terminal, line: str) -> None:
    words = f"service-cli {line}"
    asked = {"_SERVICE_CLI_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([CLIENT], env={**shell.variables(), **asked}, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr == ""


def test_completion__asked_for_everything__offers_every_command(shell: Terminal) -> None:
    environment = {
        **shell.variables(),
        "_SERVICE_CLI_COMPLETE": "zsh_complete",
        "COMP_WORDS": "service-cli ",
        "COMP_CWORD": "1",
    }
    done = subprocess.run([CLIENT], env=environment, capture_output=True, text=True, check=False)
    assert set(COMMANDS) <= set(done.stdout.replace("\\:", ":").split("\n"))


@pytest.fixture
def bash(shell: Terminal, tmp_path: Path) -> Iterator[TypedShell]:
    """An interactive bash in a folder with a page and a folder."""
    scratch, here = tmp_path / "scratch", tmp_path / "here"
    for folder in (scratch, here, here / "work"):
        folder.mkdir()
    (here / "notes.md").touch()
    (scratch / "rc").write_text(shell.run("completion", "bash").stdout)
    environment = {**shell.variables(), "PATH": f"{Path(CLIENT).parent}{os.pathsep}{os.environ['PATH']}"}
    words = ["/bin/bash", "--noprofile", "--rcfile", str(scratch / "rc"), "-i"]
    with typed(words, environment, here, scratch) as found:
        yield found


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("service-cli poster:check not", "service-cli poster:check notes.md"),
        ("service-cli poster:publish-fund not", "service-cli poster:publish-fund notes.md"),
        ("service-cli poster:new not", "service-cli poster:new notes.md"),
        ("service-cli solver:submit 7 wor", "service-cli solver:submit 7 work/"),
        ("service-cli poster:open-winning-submission 7 wor", "service-cli poster:open-winning-submission 7 work/"),
        ("service-cli guardian:verdict 7 awarded not", "service-cli guardian:verdict 7 awarded notes.md"),
        ("service-cli --network stag", "service-cli --network staging"),
        ("service-cli doctor --network stag", "service-cli doctor --network staging"),
        ("service-cli help guardian:heart", "service-cli help guardian:heartbeat"),
        ("service-cli guardian:heart", "service-cli guardian:heartbeat"),
        ("service-cli bounty:show 48", "service-cli bounty:show 48"),
        ("service-cli bounty:show not", "service-cli bounty:show not"),
    ],
)  # fmt: skip
def test_completion__typed_in_bash__completes_files_networks_and_commands(
    bash: TypedShell, line: str, completed: str
) -> None:
    assert bash.completed(line) == completed
