"""What chooses between JSON and text, in which order, and that it is mentioned once."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.screen import at_terminal
from tests.cli.terminal import Terminal

PAGE = ("spec-commitment", "page.md")
TEXT = "The spec commitment of these 1 byte"


@pytest.fixture
def home(shell: Terminal) -> Terminal:
    """A terminal whose user has a page."""
    (shell.home / "page.md").write_bytes(b"x")
    return shell


def configure(home: Terminal, content: str, below: str = ".config") -> Path:
    folder = home.home / below / "service-cli"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(content)
    return folder / "config.toml"


CHOICES: list[tuple[list[str], str | None, str | None, bool]] = [
    ([], None, None, False),
    (["--text"], None, None, True),
    (["--text", "--json"], None, None, False),
    ([], "text", None, True),
    ([], "json", "text", False),
    ([], "", "text", True),
    ([], None, "text", True),
    ([], None, "json", False),
    (["--text"], "json", "json", True),
    (["--json"], "text", "text", False),
    (["--json"], "neither", "neither", False),
]
"""Options, the exported variable, what the configuration file chooses, and whether it is text."""


@pytest.mark.parametrize(("options", "exported", "configured", "is_text"), CHOICES)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_mode__of_a_run__is_what_chooses_first(
    home: Terminal, options: list[str], exported: str | None, configured: str | None, is_text: bool, before: bool
) -> None:
    if configured is not None:
        configure(home, f'output = "{configured}"\n')
    words = [*options, *PAGE] if before else [*PAGE, *options]
    exporting = Terminal(home.home, {} if exported is None else {"SERVICE_OUTPUT": exported})
    out = exporting.run(*words).stdout
    assert out.startswith(TEXT if is_text else '{"event": "spec_commitment.derived"')


def test_mode__below_the_folder_of_xdg__is_that_one_s(home: Terminal) -> None:
    configure(home, 'output = "text"\n', "elsewhere")
    assert home.run(*PAGE, XDG_CONFIG_HOME=str(home.home / "elsewhere")).stdout.startswith(TEXT)
    assert home.run(*PAGE, XDG_CONFIG_HOME="elsewhere").stdout.startswith("{")  # a relative one is none


@pytest.mark.parametrize(
    "content", ['output = "pretty"', "output = 1", "output", 'outputs = "text"', "\x00", "[" * 5_000, "#" * 70_000]
)
def test_mode__of_a_malformed_file__is_refused_in_json_and_names_it(home: Terminal, content: str) -> None:
    path = configure(home, content)
    ran = home.run(*PAGE, code=1)
    assert ran.last["code"] == "configuration_malformed"
    assert str(path) in str(ran.last["message"])
    assert home.run(*PAGE, "--json").last["event"] == "spec_commitment.derived"


def test_mode__in_config__is_shown_with_what_chose_it(home: Terminal) -> None:
    (found,) = (each for each in home.run("config", "--network", "staging").events if each["name"] == "SERVICE_OUTPUT")
    assert (found["value"], found["source"]) == ("json", "default")
    path = configure(home, 'output = "text"')
    out = home.run("config", "--network", "staging").stdout
    assert re.search(rf"^SERVICE_OUTPUT = text\s\({path}\)$", out, re.MULTILINE)


@pytest.mark.parametrize("exported", ["pretty", "TEXT", " text"])
def test_mode__of_a_malformed_variable__is_refused(home: Terminal, exported: str) -> None:
    assert home.run(*PAGE, code=1, SERVICE_OUTPUT=exported).last["code"] == "configuration_malformed"


def test_mode__of_a_folder_or_an_empty_file__is_json(home: Terminal) -> None:
    path = configure(home, "# nothing\n")
    assert home.run(*PAGE).stdout.startswith("{")
    path.unlink()
    path.mkdir()
    assert home.run(*PAGE, code=1).last["code"] == "configuration_malformed"


def test_mode__of_a_dotenv__is_not_taken_and_named(home: Terminal) -> None:
    (home.home / ".env").write_text("SERVICE_OUTPUT=text\n")
    ran = home.run("config", "--network", "staging")
    assert ran.events
    assert "SERVICE_OUTPUT of .env is not used" in ran.words
    assert "taken from .env" not in ran.words


def test_hint__at_a_terminal__is_there_once(home: Terminal) -> None:
    first, second = (at_terminal(home, *PAGE, watched=True) for _ in range(2))
    assert "--text prints sentences" in first.screen
    assert "--text" not in second.screen
    assert json.loads(first.screen.splitlines()[-1])["event"] == "spec_commitment.derived"


@pytest.mark.parametrize("words", [["--quiet"], ["--text"], ["--json"]])
def test_hint__for_somebody_who_chose_or_is_quiet__is_not_there(home: Terminal, words: list[str]) -> None:
    assert "note:" not in at_terminal(home, *PAGE, *words, watched=True).screen
    remembered = "text-mode-shown" in str(list(home.home.rglob("*")))
    assert not remembered


def test_hint__that_cannot_be_remembered__is_left_out(home: Terminal) -> None:
    (home.home / "state").write_text("a file")
    assert "note:" not in at_terminal(home, *PAGE, watched=True).screen


def test_hint__where_stdout_is_a_pipe__is_not_there(home: Terminal) -> None:
    assert at_terminal(home, *PAGE).screen == ""
