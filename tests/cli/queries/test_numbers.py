"""A number that an endpoint would have mean another Submission."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.liar import without_logs
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Ran, Terminal


@dataclass(frozen=True, slots=True)
class Judged:
    """A bounty with a Submission of each Solver, past its reveal point."""

    bounty: str
    commitments: tuple[str, str]
    topics: tuple[str, str]
    """Of each Solver's account."""


@pytest.fixture
def judged_twice(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Judged:
    number, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
    api.keep_page(page)
    commitments = []
    for name in ("solver-1", "solver-2"):
        home = person(ledger, api, rpc, tmp_path / name, name)
        (home.home / "work").mkdir()
        (home.home / "work" / "main.py").write_text(f"print('{name}')\n")
        recorded = home.run("solver:submit", str(number), "work").event("submit.submission_recorded")
        commitments.append(str(recorded["submission_commitment"]))
    ledger.reveal(number)
    topics = tuple("0x" + one.address[2:].rjust(64, "0") for one in ledger.people.solvers)
    first, second = commitments
    return Judged(str(number), (first, second), (topics[0], topics[1]))


@pytest.fixture
def _reasons(guardian: Terminal) -> None:
    (guardian.home / "why.md").write_text("It holds.\n")


def award(guardian: Terminal, judged: Judged, number: str, code: int = 0) -> Ran:
    return guardian.run(
        "guardian:verdict", judged.bounty, "awarded", "--unopened", "--submission", number, "why.md", code=code
    )


@pytest.mark.attack
@pytest.mark.usefixtures("_reasons")
def test_verdict_by_number_is_for_what_was_opened_under_it(
    rpc: RpcProxy, guardian: Terminal, judged_twice: Judged
) -> None:
    guardian.run("guardian:open", judged_twice.bounty)
    rpc.after = without_logs(judged_twice.topics[0])
    ran = award(guardian, judged_twice, "1", code=1)
    assert ran.last["code"] == "submission_moved"
    assert judged_twice.commitments[0] in str(ran.last["message"])
    assert judged_twice.commitments[1] in str(ran.last["message"])
    rpc.honest()
    assert award(guardian, judged_twice, "1").last["submission_commitment"] == judged_twice.commitments[0]


@pytest.mark.attack
@pytest.mark.usefixtures("_reasons")
def test_number_that_only_the_node_knows_names_nothing(
    api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged_twice: Judged
) -> None:
    rpc.after = without_logs(judged_twice.topics[0])
    assert award(guardian, judged_twice, "1", code=1).last["code"] == "sources_disagree"
    assert guardian.run("guardian:open", judged_twice.bounty, "--submission", "1", code=1).last["code"] == (
        "sources_disagree"
    )
    api.scripts["detail"] = lambda _request: refusal(500, "internal_error", "Not now.")
    rpc.honest()
    ran = award(guardian, judged_twice, "1", code=1)
    assert ran.last["code"] == "submission_unproven"
    assert "Solver and its whole commitment" in str(ran.last["next_action"])


@pytest.mark.attack
@pytest.mark.usefixtures("_reasons")
def test_list_of_the_api_that_is_another_is_not_the_list(
    api: ApiTwin, guardian: Terminal, judged_twice: Judged
) -> None:
    def swapped(answer: dict[str, object]) -> object:
        listed = answer["active_submissions"]
        assert isinstance(listed, list)
        return {**answer, "active_submissions": listed[::-1]}

    api.lies["detail"] = swapped
    ran = guardian.run("guardian:open", judged_twice.bounty)
    assert "the API lists other Submissions" in ran.words
    assert ran.last["opened"] == 2
    assert award(guardian, judged_twice, "2", code=1).last["code"] == "sources_disagree"
    api.lies.clear()
    assert award(guardian, judged_twice, "2").last["submission_commitment"] == judged_twice.commitments[1]
