"""Documents against the code: what they tell a reader to type exists."""

import re
from pathlib import Path

import pytest
from service_cli.main import COMMANDS

TOP = Path(__file__).parents[2]
MADE = TOP / "docs/reference"
"""What the site's session makes of code, and checks itself."""
HISTORY = {TOP / "CHANGELOG.md", *TOP.glob("docs/adr/*.md")}
"""Pages that also name what is no longer there."""
DOCUMENTS = [
    path
    for path in sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), TOP / "tests/README.md"])
    if MADE not in path.parents and path not in HISTORY
]
NOXFILE = (TOP / "noxfile.py").read_text()
SESSIONS = {*re.findall(r"def (\w+)\(session", NOXFILE), *re.findall(r"(?m)^    \"(\w+)\":", NOXFILE)}
SPECIFIED = {
    "poster:publish-fund",
    "poster:open-winning-submission",
    "solver:submit",
    "claim",
    "spec-commitment",
    "verification-record",
    "guardian:judgeable",
    "guardian:open",
    "guardian:verdict",
    "guardian:deliver-key",
}


def test_commands__of_the_interface__all_exist() -> None:
    assert set(COMMANDS) >= SPECIFIED


def anchors(document: Path) -> set[str]:
    """The places of a page that a link can name: its headings as the usual renderers spell them, and its own ids."""
    text = document.read_text(encoding="utf-8")
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    spelled = {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
    return spelled | set(re.findall(r'id="([\w-]+)"', text))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(TOP)))
def test_named_sessions_commands_and_files_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"\./noxw -s (\w+)", text)) <= SESSIONS
    named = {word for word in re.findall(r"service-cli ((?:\w+:)?[a-z][\w-]*)", text) if word != "help"}
    assert named <= set(COMMANDS)
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert (path.parent / link).exists(), link
    for page, anchor in re.findall(r"\]\((?!https?:)([\w./-]*)#([^)]+)\)", text):
        assert anchor in anchors(path.parent / page if page else path), anchor
    for code in re.findall(r"`((?:services|libs|cli|contracts|deploy|tests|docs|examples|tools)/[\w./-]+)`", text):
        assert (TOP / code).exists(), code
