"""The tools that plant changes believe no forge that remembers, and state no share that they have not seen."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONTRACTS = Path(__file__).resolve().parents[2] / "contracts"
SMALL_FILE = "src/parts/Narrow.sol"
FORGE = '''#!{python}
"""Fails when the checked line is missing, keeps that failure as forge does, and plays it first in every later run."""
import os, pathlib, re, sys
arguments = sys.argv[1:]
root = pathlib.Path(arguments[arguments.index("--root") + 1])
memory = pathlib.Path(os.environ.get("FOUNDRY_INVARIANT_FAILURE_PERSIST_DIR", root / "cache/invariant"))
stuck = pathlib.Path("{folder}/stuck")
checked = "revert IHubTypes.ValueTooLarge" in (root / "{file}").read_text()
red = (memory / "kept").exists() or stuck.exists() or not checked
if red:
    memory.mkdir(parents=True, exist_ok=True)
    (memory / "kept").touch()
    if {sticks}: stuck.touch()
with open("{folder}/calls", "a") as calls:
    calls.write("call\\n")
names = sorted(set(re.findall(r"test_\\w+", " ".join(arguments))))
print("Ran 1 test")
for name in names if red else []:
    print(f"[FAIL: no] {{name}}() (gas: 1)")
if not red:
    print(f"{{len(names)}} tests passed, 0 failed")
sys.exit(1 if red else 0)
'''
PATCH = """The check of a width is gone.
Caught by: test_one
Caught by: test_two

--- a/src/parts/Narrow.sol
+++ b/src/parts/Narrow.sol
@@ -29,4 +29,3 @@
     function _check(uint256 value, uint256 maximum) private pure {
-        if (value > maximum) revert IHubTypes.ValueTooLarge(value, maximum);
     }
 }
"""


class Tools:
    """A copy of the contracts with a forge that stays red once it was red, unless its memory is a new folder."""

    def __init__(self, folder: Path, *, sticks: bool = False) -> None:
        self.contracts = folder / "contracts"
        self._folder = folder
        for name in ("src", "test", "tools"):
            shutil.copytree(CONTRACTS / name, self.contracts / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("foundry.toml", "package.json", "package-lock.json"):
            shutil.copy2(CONTRACTS / name, self.contracts / name)
        (self.contracts / "mutants").mkdir()
        self._forge = folder / "forge"
        self._forge.write_text(FORGE.format(python=sys.executable, folder=folder, file=SMALL_FILE, sticks=sticks))
        self._forge.chmod(0o755)

    def run(self, tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, f"tools/{tool}.py", "--forge", str(self._forge), *arguments]
        return subprocess.run(command, cwd=self.contracts, capture_output=True, text=True, check=False)

    def mutate(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run("mutate", "--only", SMALL_FILE, *arguments)

    @property
    def calls(self) -> int:
        calls = self._folder / "calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def counted(output: str) -> dict[str, int]:
    found = re.findall(r"(\d+) (mutants|covered|remaining|killed|survived|equivalent|controls)", output)
    return {name: int(number) for number, name in found}


def test_one_caught_change__does_not_make_the_next_look_caught(tools: Tools) -> None:
    done = tools.mutate("--share", "0")
    counts = counted(done.stdout)
    assert done.returncode == 0
    assert counts["killed"] == 1  # the one statement whose loss this forge notices
    assert counts["survived"] == counts["mutants"] - 1
    assert counts["controls"] == 2
    assert tools.mutate("--share", "0.95").returncode == 1


def test_the_unchanged_code_fails_between_changes__no_result_is_kept(tmp_path: Path) -> None:
    tools = Tools(tmp_path, sticks=True)
    done = tools.mutate()
    assert done.returncode == 1
    assert "unchanged code" in done.stderr
    assert not (tools.contracts / ".local/mutation.jsonl").exists()


def test_an_incomplete_run__counts_what_remains_and_claims_no_share(tools: Tools) -> None:
    done = tools.mutate("--limit", "3", "--share", "0")
    counts = counted(done.stdout)
    assert done.returncode == 1
    assert counts["covered"] == 3
    assert counts["remaining"] == counts["mutants"] - 3
    assert "%" not in done.stdout
    assert "%" in tools.mutate("--share", "0").stdout


@pytest.mark.parametrize("changed", ["test/Pull.t.sol", "src/Hub.sol", "foundry.toml", "tools/mutate.py"])
def test_results__of_other_sources_tests_or_tools__are_not_used_again(tools: Tools, changed: str) -> None:
    tools.mutate("--limit", "1")
    calls = tools.calls
    assert counted(tools.mutate("--limit", "0").stdout)["covered"] == 1
    assert tools.calls == calls
    with (tools.contracts / changed).open("a") as file:
        file.write("\n")
    assert counted(tools.mutate("--limit", "0").stdout)["covered"] == 0


def test_lines_changed_since_a_commit_are_a_part_of_all(tools: Tools) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "src"], ["commit", "-qm", "as it was"]):
        subprocess.run([*git, *words], cwd=tools.contracts, check=True)
    assert counted(tools.mutate("--since", "HEAD", "--share", "0").stdout)["mutants"] == 0
    changed = tools.contracts / SMALL_FILE
    changed.write_text(changed.read_text().replace("value > maximum)", "value >= maximum)"))
    counts = counted(tools.mutate("--since", "HEAD", "--share", "0").stdout)
    assert 0 < counts["mutants"] < counted(tools.mutate("--share", "0").stdout)["mutants"]
    assert tools.mutate("--since", "no-such-commit").returncode == 1


def test_an_equivalent_change__is_left_out__unless_a_test_kills_it(tools: Tools) -> None:
    listed = tools.contracts / "mutants/equivalent.toml"
    row = '[[equivalent]]\nfile = "{}"\nbefore = "{}"\nafter = "{}"\nreason = "nobody sees it"\n'
    before = "if (value > maximum) revert IHubTypes.ValueTooLarge(value, maximum);"
    listed.write_text(row.format(SMALL_FILE, before, before.replace(" > ", " >= ")))
    done = tools.mutate("--share", "0")
    assert (done.returncode, counted(done.stdout)["equivalent"]) == (0, 1)
    listed.write_text(row.format(SMALL_FILE, before, ""))
    assert tools.mutate("--share", "0").returncode == 1
    listed.write_text(row.format(SMALL_FILE, before, "not a change of any tool"))
    assert tools.mutate("--share", "0").returncode == 1


def test_a_planted_bug__is_caught__and_the_code_without_it_passes_afterwards(tmp_path: Path) -> None:
    for sticks, code in ((False, 0), (True, 1)):
        folder = tmp_path / str(sticks)
        folder.mkdir()
        tools = Tools(folder, sticks=sticks)
        (tools.contracts / "mutants/first.patch").write_text(PATCH)
        (tools.contracts / "mutants/second.patch").write_text(PATCH)
        done = tools.run("check_mutants")
        assert done.returncode == code, done.stderr
        assert done.stdout.count("caught") == 2
        assert ("do not pass without the bugs" in done.stderr) == sticks
