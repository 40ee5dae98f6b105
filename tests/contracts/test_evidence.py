"""The tools that vouch for the Hub refuse a finding that nobody answered, and a line that no test reaches."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

CONTRACTS = Path(__file__).resolve().parents[2] / "contracts"
ANSWERS = tomllib.loads((CONTRACTS / "slither-answers.toml").read_text(encoding="utf-8"))["answer"]
ANSWERED = [(row["kind"], place) for row in ANSWERS for place in row["where"]]
SLITHER = """#!{python}
import pathlib, sys
pathlib.Path(sys.argv[sys.argv.index("--json") + 1]).write_text({report!r})
"""
FORGE = """#!{python}
import pathlib, sys
pathlib.Path(sys.argv[sys.argv.index("--report-file") + 1]).write_text({report!r})
"""
REACHED = "SF:src/Hub.sol\nDA:1,4\nBRDA:1,0,0,2\nend_of_record\nSF:src/parts/Money.sol\nDA:9,1\nend_of_record\n"


def run(folder: Path, tool: str, program: str, report: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    stand_in = folder / "program"
    stand_in.write_text(program.format(python=sys.executable, report=report))
    stand_in.chmod(0o755)
    command = [sys.executable, str(CONTRACTS / f"tools/{tool}.py"), *arguments, str(stand_in)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def reported(findings: list[tuple[str, str]]) -> str:
    """What slither writes of findings, each of a kind at a place such as ``Hub.settle``."""
    detectors: list[dict[str, Any]] = []
    for kind, place in findings:
        parent, _, name = place.rpartition(".")
        fields = {"parent": {"name": parent}} if parent else {}
        detectors.append({"check": kind, "elements": [{"name": name, "type_specific_fields": fields}]})
    return json.dumps({"success": True, "error": None, "results": {"detectors": detectors} if detectors else {}})


@pytest.mark.parametrize(
    ("findings", "line"),
    [
        (ANSWERED, f"{len(ANSWERED)} result(s) found"),
        ([*ANSWERED, ("arbitrary-send", "Hub.claim")], "not answered: arbitrary-send in Hub.claim"),
        ([*ANSWERED, (ANSWERED[0][0], "Hub.claim")], f"not answered: {ANSWERED[0][0]} in Hub.claim"),
        (ANSWERED[1:], f"answered, and not found any more: {ANSWERED[0][0]} in {ANSWERED[0][1]}"),
        ([], "not found any more"),
    ],
    ids=["as answered", "another kind", "another place", "one is gone", "all are gone"],
)
def test_findings_of_slither_are_all_answered(tmp_path: Path, findings: list[tuple[str, str]], line: str) -> None:
    done = run(tmp_path, "slither", SLITHER, reported(findings), "--slither")
    assert line in done.stdout
    assert done.returncode == (findings != ANSWERED)


def test_slither_that_did_not_finish_shows_nothing(tmp_path: Path) -> None:
    report = json.dumps({"success": False, "error": "no compiler", "results": {}})
    done = run(tmp_path, "slither", SLITHER, report, "--slither")
    assert done.returncode == 1
    assert "no compiler" in done.stderr


@pytest.mark.parametrize(
    ("report", "lacking"),
    [
        (REACHED, ""),
        (REACHED.replace("DA:1,4", "DA:1,0"), "src/Hub.sol"),
        (REACHED.replace("BRDA:1,0,0,2", "BRDA:1,0,0,-"), "src/Hub.sol"),
        (REACHED.replace("DA:9,1", "DA:9,0"), "src/parts/Money.sol"),
        (REACHED.replace("src/Hub.sol", "src/Token.sol"), "src/Hub.sol"),
    ],
    ids=["everything", "a line", "a branch", "a line of a part", "nothing is known of the Hub"],
)
def test_every_line_and_branch_of_the_hub_is_reached(tmp_path: Path, report: str, lacking: str) -> None:
    lcov = tmp_path / "hub.lcov"
    done = run(tmp_path, "coverage", FORGE, report, "--lcov", str(lcov), "--forge")
    assert done.returncode == bool(lacking)
    assert lacking in done.stderr
    assert lcov.read_text() == report
