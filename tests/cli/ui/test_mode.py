"""What chooses between JSON and text, and in which order."""

import pytest

from tests.cli.terminal import Terminal

PAGE = ("spec-commitment", "page.md")
TEXT = "The spec commitment of these 1 byte"


@pytest.fixture
def home(shell: Terminal) -> Terminal:
    """A terminal whose user has a page."""
    (shell.home / "page.md").write_bytes(b"x")
    return shell


@pytest.mark.parametrize(
    ("options", "exported", "is_text"),
    [
        ([], None, False),
        (["--text"], None, True),
        (["--text", "--json"], None, False),
        ([], "text", True),
        ([], "json", False),
        ([], "", False),
        (["--text"], "json", True),
        (["--json"], "text", False),
        (["--json"], "neither", False),
    ],
)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_mode__of_a_run__is_what_chooses_first(
    home: Terminal, options: list[str], exported: str | None, is_text: bool, before: bool
) -> None:
    words = [*options, *PAGE] if before else [*PAGE, *options]
    exporting = Terminal(home.home, {} if exported is None else {"SERVICE_OUTPUT": exported})
    out = exporting.run(*words).stdout
    assert out.startswith(TEXT if is_text else '{"event": "spec_commitment.derived"')


@pytest.mark.parametrize("exported", ["pretty", "TEXT", " text"])
def test_mode__of_a_malformed_variable__is_refused(home: Terminal, exported: str) -> None:
    assert home.run(*PAGE, code=1, SERVICE_OUTPUT=exported).last["code"] == "configuration_malformed"


def test_mode__of_a_dotenv__is_not_taken_and_named(home: Terminal) -> None:
    (home.home / ".env").write_text("SERVICE_OUTPUT=text\n")
    ran = home.run("claim", "1", code=1)
    assert ran.stdout.startswith("{")
    assert "SERVICE_OUTPUT of .env is not used" in ran.words
    assert "taken from .env" not in ran.words
