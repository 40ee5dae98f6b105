"""What happens at the end of ``bounty:watch``: a bell, a notification, a command of the user's."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.screen import at_terminal
from tests.cli.terminal import Terminal

SHOW = """\
#!{python}
import json, os, sys
names = [name for name in os.environ if name.startswith("SERVICE_")]
with open({out!r}, "a") as file:
    json.dump([sys.argv[1:], {{name: os.environ[name] for name in names}}], file)
print("printed by the command")
sys.exit({code})
"""


def program(folder: Path, name: str, code: int = 0) -> Path:
    """A program that writes its arguments and variables to ``seen.json``."""
    path = folder / name
    path.write_text(SHOW.format(python=sys.executable, out=str(folder / "seen.json"), code=code))
    path.chmod(0o755)
    return path


def seen(folder: Path) -> tuple[list[str], dict[str, str]]:
    arguments, variables = json.loads((folder / "seen.json").read_text())
    return arguments, variables


def test_exec__at_the_end__gets_the_bounty_in_variables_and_no_key(poster: Terminal, ended: int) -> None:
    command = f'{program(poster.home, "done")} "one word" $HOME'
    at = at_terminal(poster, "bounty:watch", str(ended), "--exec", command)
    arguments, variables = seen(poster.home)
    assert arguments == ["one word", "$HOME"]
    assert variables["SERVICE_BOUNTY_ID"] == str(ended)
    assert (variables["SERVICE_BOUNTY_STATE"], variables["SERVICE_BOUNTY_REASON"]) == ("awarded", "judged")
    assert not [name for name in variables if name.endswith("PRIVATE_KEY")]
    assert any(name.endswith("PRIVATE_KEY") for name in poster.environment)
    assert json.loads(at.stdout.splitlines()[-1])["event"] == "bounty_watch.final"
    assert "printed by the command" not in at.stdout
    assert "printed by the command" in at.screen


def test_exec__that_fails__is_a_warning_and_the_bounty_has_ended(poster: Terminal, ended: int) -> None:
    at = at_terminal(poster, "bounty:watch", str(ended), "--exec", str(program(poster.home, "done", code=3)))
    assert (at.code, "warning: done ended with exit code 3" in at.screen) == (0, True)


@pytest.mark.parametrize("command", ["", "'open", "no-such-program-anywhere 7"])
def test_exec__that_cannot_be_run__is_a_usage_error_before_anything_is_read(poster: Terminal, command: str) -> None:
    assert "--exec" in poster.run("bounty:watch", "1", "--exec", command, code=2).words


def test_notify__where_there_is_a_notifier__shows_words_of_ours(poster: Terminal, ended: int) -> None:
    program(poster.home, "notify-send")
    path = f"{poster.home}{os.pathsep}{os.environ['PATH']}"
    poster.run("bounty:watch", str(ended), "--notify", PATH=path)
    assert seen(poster.home)[0] == ["--", "service-cli", f"Bounty {ended} is final: awarded."]


def test_notify__where_there_is_none__is_said_at_once(poster: Terminal, ended: int) -> None:
    ran = poster.run("bounty:watch", str(ended), "--notify", PATH=str(poster.home))
    assert ran.words.startswith("warning: no notification will be shown")
    assert ran.last["event"] == "bounty_watch.final"


@pytest.mark.parametrize(("words", "rings"), [(["--bell"], True), ([], False)])
def test_bell__when_wanted__rings_at_the_end(poster: Terminal, ended: int, words: list[str], rings: bool) -> None:
    assert ("\a" in at_terminal(poster, "bounty:watch", str(ended), *words).screen) == rings


def test_bell__where_nobody_watches__is_silent(poster: Terminal, ended: int) -> None:
    ran = poster.run("bounty:watch", str(ended), "--bell")
    assert "\a" not in ran.words + ran.stdout
