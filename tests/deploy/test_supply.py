"""What the project is built with: actions by commit, a bot that keeps pins current, advisories that are asked for."""

import json
import re
import subprocess

import pytest
import yaml

from tools.advisories import NOT_RUN, PINS, AdvisoryAnswer, exit_code, lock_files, read_npm, read_python

from .conftest import REPOSITORY

WORKFLOWS = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))
BOT = yaml.safe_load((REPOSITORY / ".github/dependabot.yml").read_text(encoding="utf-8"))
MAINTAINED = {each["package-ecosystem"]: each for each in BOT["updates"]}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions__of_a_workflow__are_pinned_by_commit_with_their_version_beside(workflow: str) -> None:
    lines = [line for line in (REPOSITORY / workflow).read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        assert re.fullmatch(r" +- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_actions__of_all_workflows__are_of_one_commit_each() -> None:
    uses = {match for path in WORKFLOWS for match in re.findall(r"uses: (\S+)@(\S+)", path.read_text(encoding="utf-8"))}
    assert len({name for name, _ in uses}) == len(uses)


def test_bot__keeps_every_folder_with_a_lock_file_and_every_kind_of_pin_current() -> None:
    assert set(MAINTAINED) == {"github-actions", "npm", "docker", "docker-compose", "pip"}
    folders = {f"/{path.parent.relative_to(REPOSITORY)}" for path in lock_files()}
    assert set(MAINTAINED["npm"]["directories"]) == folders
    for each in BOT["updates"]:
        for folder in each.get("directories", [each.get("directory")]):
            assert (REPOSITORY / folder.lstrip("/")).is_dir()


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


def test_answers__of_pip_audit__are_advisories_or_what_was_not_asked() -> None:
    clean = {"name": "flask", "version": "3.0.0", "vulns": []}
    bad = {"name": "jinja2", "version": "3.0.0", "vulns": [{"id": "PYSEC-1"}, {"id": "GHSA-2"}]}
    unknown = {"name": "click", "skip_reason": "Dependency not found"}
    assert read_python("a", json.dumps({"dependencies": [clean]}), "") == AdvisoryAnswer("a")
    assert read_python("a", json.dumps({"dependencies": [clean, bad]}), "").found == (
        "jinja2 3.0.0: PYSEC-1",
        "jinja2 3.0.0: GHSA-2",
    )
    assert (
        read_python("a", json.dumps({"dependencies": [clean, unknown]}), "").refused
        == "1 of 2 pins are not known there"
    )
    assert read_python("a", "", "Traceback\nConnectionError: none\n").refused == "ConnectionError: none"
    assert read_python("a", "[]", "").refused == "no answer"


def test_answers__of_npm__are_advisories_or_what_was_not_asked() -> None:
    assert read_npm("a", json.dumps({"vulnerabilities": {}}), "") == AdvisoryAnswer("a")
    found = read_npm("a", json.dumps({"vulnerabilities": {"ws": {"severity": "high"}}}), "")
    assert found == AdvisoryAnswer("a", ("ws: high",))
    refused = read_npm("a", json.dumps({"message": "405 Method Not Allowed - POST somewhere"}), "")
    assert refused == AdvisoryAnswer("a", refused="405 Method Not Allowed")
    assert read_npm("a", "", "").refused == "no answer"


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
