"""What the project is built with: actions by commit, a bot that keeps pins current, advisories that are asked for."""

import re
import subprocess

import pytest

from tools.advisories import NOT_RUN, PINS, AdvisoryAnswer, exit_code

from .conftest import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions__of_a_workflow__are_pinned_by_commit_with_their_version_beside(workflow: str) -> None:
    lines = [line for line in (REPOSITORY / workflow).read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        assert re.fullmatch(r" +- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_actions__of_all_workflows__are_of_one_commit_each() -> None:
    uses = {match for path in WORKFLOWS for match in re.findall(r"uses: (\S+)@(\S+)", path.read_text(encoding="utf-8"))}
    assert len({name for name, _ in uses}) == len(uses)


def test_advisories__are_asked_of_files_that_have_every_pin() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "requirements/*.txt"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout.split()
    pins = {
        path: set(re.findall(r"^([\w.-]+)==([\w.]+)", (REPOSITORY / path).read_text(), re.MULTILINE)) for path in listed
    }
    asked = set[tuple[str, str]]().union(*(pins[f"requirements/{name}"] for name in PINS))
    assert asked
    for path, own in pins.items():
        assert own <= asked, path


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ([AdvisoryAnswer("a"), AdvisoryAnswer("b")], 0),
        ([AdvisoryAnswer("a"), AdvisoryAnswer("b", refused="405")], NOT_RUN),
        ([AdvisoryAnswer("a", ("x",)), AdvisoryAnswer("b", refused="405")], 1),
    ],
)
def test_session__that_was_not_answered__never_ends_as_if_there_were_no_advisories(
    asked: list[AdvisoryAnswer], code: int
) -> None:
    assert exit_code(asked) == code
