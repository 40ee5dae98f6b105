"""Evidence is of the tree that is here: the Hub's by digests, the others' by what changed in the files they cover."""

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tools.assurance import __main__ as main_module
from tools.assurance import page as page_module
from tools.assurance.__main__ import in_order_of_age, list_stale
from tools.assurance.evidence import (
    NOT_RUN,
    PAGE,
    Evidence,
    StepResult,
    held_against,
    read_evidence,
    shown_digests,
    sources_digest,
)
from tools.assurance.steps import COVERS, HUB_SOURCES, TOP, CampaignStep, steps


@pytest.mark.parametrize("step", HUB_SOURCES)
def test_evidence_of_the_hub_is_of_its_present_sources(step: str) -> None:
    shown = shown_digests(PAGE.read_text(encoding="utf-8"))
    assert shown.get(step) == sources_digest(step), f"./noxw -s assurance -- {step} writes docs/assurance.md again"


@pytest.mark.parametrize("step", HUB_SOURCES)
def test_sources_of_a_step_are_there(step: str) -> None:
    assert [pattern for pattern in HUB_SOURCES[step] if not any(TOP.glob(pattern))] == []


def test_digest_changes_with_the_sources_and_with_nothing_else(tmp_path: Path) -> None:
    hub, part, other = (tmp_path / "contracts" / name for name in ("src/Hub.sol", "src/parts/A.sol", "README.md"))
    for file in (hub, part, other):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one")
    before = sources_digest("hub-mutants", tmp_path)
    other.write_text("two")
    assert sources_digest("hub-mutants", tmp_path) == before
    part.write_text("two")
    changed = sources_digest("hub-mutants", tmp_path)
    assert changed != before
    part.rename(part.with_name("B.sol"))
    assert sources_digest("hub-mutants", tmp_path) not in {before, changed}


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ("| `a-b` | it | passed | 2026-01-01, 1 s, `0123`, sources `45ab` | all |", {"a-b": "45ab"}),
        ("| `a-b` | it | passed | 2026-01-01, 1 s, `0123` | all |", {"a-b": ""}),
        ("| `a-b` | it | **failed** | 2026-01-01, 1 s, `0123`, sources `45ab` | all |", {}),
        ("| `a-b` | it | not run | | |", {}),
    ],
    ids=["passed", "passed without a digest", "failed", "not run"],
)
def test_row_counts_when_it_passed(row: str, shown: dict[str, str]) -> None:
    assert shown_digests(row) == shown


@pytest.mark.parametrize(
    ("former", "state", "shown"),
    [
        ("passed", NOT_RUN, "passed"),
        ("passed", "failed", "**failed**"),
        (NOT_RUN, "passed", "passed"),
        (NOT_RUN, NOT_RUN, NOT_RUN),
    ],
)
def test_machine_that_cannot_run_a_step_takes_no_evidence_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, former: str, state: str, shown: str
) -> None:
    name = steps()[0].name
    (page := tmp_path / "assurance.md").write_text(
        f"| `{name}` | it | {former} | 2026-01-01, 1 s, `0123456` |  | old |\n"
    )
    result = StepResult(name, state, 2.0, "89abcdef", "2026-02-02", "new")
    (tmp_path / f"{name}.json").write_text(json.dumps(asdict(result)))
    monkeypatch.setattr(page_module, "PAGE", page)
    monkeypatch.setattr(page_module, "RESULTS", tmp_path)
    page_module.write_page(steps())
    (row,) = [line for line in page.read_text().splitlines() if line.startswith(f"| `{name}`")]
    assert f"| {shown} | {'2026-01-01' if (former, state) == ('passed', NOT_RUN) else '2026-02-02'}" in row


def test_steps__each_say_what_they_cover__and_it_is_there() -> None:
    assert {step.name for step in steps()} == set(COVERS)
    gone = {
        pattern
        for patterns in COVERS.values()
        for pattern in patterns
        if not pattern.startswith(":") and not (TOP / pattern).exists() and not any(TOP.glob(pattern))
    }
    assert gone == set()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    for name in ("covered/a.py", "other/b.py"):
        write(tmp_path / name, "one")
    return tmp_path


def git(top: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(
        ["git", *identity, *words], cwd=top, check=True, capture_output=True, text=True
    ).stdout.strip()


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def commit(top: Path) -> str:
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--allow-empty", "--message", "a")
    return git(top, "rev-parse", "HEAD")[:10]


def test_evidence__whose_files_changed_since__is_stale_and_other_files_do_not_matter(repository: Path) -> None:
    passed = Evidence("a", "passed", "2026-01-01", 1.0, commit(repository))

    def held() -> Evidence:
        return held_against(passed, ("covered", "more/*.py"), repository)

    assert (held().stale, held().words) == ("", "this commit, nothing covered changed")
    write(repository / "other/b.py", "two")
    write(repository / "more/deep/c.py", "not of the pattern")
    commit(repository)
    assert (held().stale, held().words) == ("", "1 commits ago, nothing covered changed")
    write(repository / "covered/a.py", "not committed yet")
    assert held().stale == "changed since: covered/a.py"
    commit(repository)
    assert (held().stale, held().words) == ("changed since: covered/a.py", "2 commits ago, 1 covered files changed")


def test_evidence__of_which_git_cannot_tell_what_changed__is_stale_and_so_is_a_new_file(repository: Path) -> None:
    passed = Evidence("a", "passed", "2026-01-01", 1.0, commit(repository))
    assert held_against(passed, (":(nothing)covered",), repository).stale
    write(repository / "covered/new.py", "nobody added it yet")
    assert held_against(passed, ("covered",), repository).stale == "changed since: covered/new.py"


@pytest.mark.parametrize(
    ("state", "reason"), [("**failed**", "failed"), ("not run", "not run"), ("passed", "not in this clone")]
)
def test_evidence__that_failed_or_cannot_be_held_against_the_tree__is_stale(
    repository: Path, state: str, reason: str
) -> None:
    commit(repository)
    assert reason in held_against(Evidence("a", state, "2026-01-01", 1.0, "0123456789"), (".",), repository).stale


def test_page__with_and_without_the_column_of_what_changed__is_read_alike() -> None:
    row = "| `kills` | it | passed | 2026-01-01, 2 s, `0123456789` |"
    found = {
        (each.state, each.date, each.seconds, each.commit)
        for last in (" 1 passed |", " 3 commits ago, nothing | 1 passed in 1 s |", " | |")
        for each in read_evidence(row + last, ["kills"])
    }
    assert found == {("passed", "2026-01-01", 2.0, "0123456789")}
    assert read_evidence("", ["kills"]) == [Evidence("kills", "not run")]


def aged(name: str, date: str, seconds: float | None = 1.0) -> Evidence:
    return Evidence(name, "failed" if date else "not run", date, seconds, "0123456789", 3)


def test_stale_ones__are_listed_with_what_never_ran_and_the_oldest_first(capsys: pytest.CaptureFixture[str]) -> None:
    fresh = Evidence("d", "passed", "2026-01-01", 1.0, "0123456789", 3)
    found = [aged("b", "2026-02-02"), aged("a", "2026-01-01"), aged("c", "", None), fresh]
    assert [each.name for each in in_order_of_age(found)] == ["c", "a", "b"]
    assert (list_stale(found), list_stale([fresh])) == (1, 0)
    assert "b                    2026-02-02, took 1 s: failed" in capsys.readouterr().out


def test_refresh__runs_the_oldest_first_and_only_what_still_fits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main_module, "RESULTS", tmp_path / "made by the first step")
    ran = []
    monkeypatch.setattr(main_module, "write_page", lambda known: ran.append(len(known)))
    known = [
        CampaignStep(name, name, (sys.executable, "-c", code), tmp_path)
        for name, code in (
            ("a", "print('1 passed')"),
            ("b", "raise SystemExit(1)"),
            ("c", "import time; time.sleep(60)"),
        )
    ]
    old = [aged("a", "2026-01-02"), aged("b", "2026-01-01", 600.0), aged("c", "", None)]
    assert main_module.refresh(known, old, 3.0) == 0
    assert "still stale, for want of time: c, b, a" in capsys.readouterr().err
    assert main_module.refresh(known, old, 2.0) == 0
    assert "unfinished" not in (out := capsys.readouterr().out), "it takes longer than three seconds"
    assert "passed  a" in out
    assert main_module.refresh(known[:2], [aged("a", "2026-01-02"), aged("b", "2026-01-01")], 60.0) == 1
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [["failed", "b"], ["passed", "a"]]
