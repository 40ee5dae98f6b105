"""A whole bounty by a shell script: whatever a step needs is read by jq from the JSON lines of an earlier one."""

import json
import subprocess
import sys

import pytest
from demo.bounty import Cast

from tests.e2e.conftest import REPOSITORY, ROLES

pytestmark = pytest.mark.nightly


@pytest.mark.spec(337)
def test_lifecycle__with_nothing_but_the_client_and_jq__pays_the_winner(
    cast: Cast, scripted: "subprocess.Popen[str]"
) -> None:
    output, words = scripted.communicate(timeout=180)
    assert scripted.returncode == 0, words
    told = json.loads(output)
    winner = cast.address(ROLES["solver-1"])
    assert told == {"bounty_id": told["bounty_id"], "winner": winner, "paid": "24000000"}
    audited = cast.person("solver-2").audit(told["bounty_id"])
    assert audited.event("audit.finished").fields["differences"] == 0


@pytest.mark.parametrize(
    ("options", "given", "printed", "code"),
    [
        (
            ["-er", "--arg", "event", "b", "select(.event == $event) | .n"],
            '{"event":"a","n":1}\n{"event":"b","n":2}',
            "2\n",
            0,
        ),
        (["-e", ".n"], "{}", "null\n", 1),
        (["-e", "select(false)"], "{}", "", 4),
        (["-cn", "--arg", "n", "1", "{$n}"], "", '{"n":"1"}\n', 0),
        (["-r", ".n"], '{"n":"text"}', "text\n", 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_jq__where_a_machine_has_none__answers_as_the_program_does(
    options: list[str], given: str, printed: str, code: int
) -> None:
    program = str(REPOSITORY / "tests/e2e/jq_program.py")
    done = subprocess.run([sys.executable, program, *options], input=given, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (printed, code), done.stderr
