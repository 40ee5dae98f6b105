"""The guides against the client: every command that they show is one that its own parser takes."""

import re
import shlex
from pathlib import Path

import pytest
from service_cli.main import COMMANDS, group

from tests.guide_commands import commands_of

TOP = Path(__file__).parents[2]
PAGES = [TOP / "docs" / f"{name}.md" for name in ("poster", "solver", "guardian", "faq", "pages")]
VALUES = {
    "$ACCOUNT": "0x" + "ab" * 20,
    "$SAFE": "0x" + "ab" * 20,
    "$SOLVER": "0x" + "cd" * 20,
    "$COMMITMENT": "0x" + "ef" * 32,
}


def shown(page: Path) -> list[str]:
    """The client's commands on a page: typed ones, and whole commands in running text."""
    text = page.read_text(encoding="utf-8")
    spans = (" ".join(span.split()) for span in re.findall(r"`(service-cli [^`]+)`", text))
    typed = (each.line for each in commands_of(page.name, text))
    return [*(line for line in typed if line.startswith("service-cli ")), *spans]


SHOWN = [(path.name, line) for path in PAGES for line in shown(path)]


def parse(line: str) -> str:
    """The command that a line names, parsed with its arguments as it would be before it runs."""
    for variable, value in VALUES.items():
        line = line.replace(variable, value)
    _, *words = shlex.split(line, comments=True)
    with group.make_context("service-cli", list(words)) as context:
        name, found, rest = group.resolve_command(context, words)
        assert name is not None
        assert found is not None
        with found.make_context(name, rest, parent=context):
            return name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that the guides name."""
    (tmp_path / "work").mkdir()
    for name in ("guardian-keys.json", "page.md", "why.md"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "line"), SHOWN, ids=[f"{page}: {line}" for page, line in SHOWN])
def test_shown_commands_are_the_clients(folder: Path, page: str, line: str) -> None:
    assert parse(line) in COMMANDS
