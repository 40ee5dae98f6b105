"""``guardian:judgeable``: what waits for a Guardian, what it has not opened yet, and what it owes a Poster."""

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.servers import Reply, Request, as_json
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal


@pytest.mark.parametrize(
    "answer", [{}, {"_meta": {}}, {"_meta": 7}, {"_meta": {"block": {"timestamp": 1}}, "bounties": 7}]
)
def test_judgeable__a_subgraph_of_another_shape__fails_in_one_line(
    api: ApiTwin, guardian: Terminal, answer: dict[str, object]
) -> None:
    api.subgraph = answer
    address = "0x" + "ab" * 20
    ran = guardian.run("guardian:judgeable", "--guardian-address", address, code=1)
    assert ran.last["code"] == "answer_malformed"
    assert not api.approvals()


def test_judgeable__before_and_after_opening__says_what_is_unopened_judged_and_owed(
    api: ApiTwin, guardian: Terminal, judged: Submitted, won: Submitted
) -> None:
    load(api, judged, won)
    address = api.ledger.people.guardians[0].address
    own = {"kind": "awarded", "solver_address": judged.solver, "submission_commitment": judged.commitment}
    found: dict[str, object] = {
        "bounty_id": judged.bounty,
        "roster_version": 1,
        "reveal_at": 1_000,
        "judging_deadline": 2_000,
        "submissions": [{"solver_address": judged.solver, "submission_commitment": judged.commitment}],
        "verdicts": [own],
    }
    award = {"bounty_id": won.bounty, "roster_version": 1, "winner_solver_address": won.solver}
    foreign = {"bounty_id": "77", "roster_version": 9, "winner_solver_address": won.solver}

    def index(request: Request) -> Reply:
        query = str(request.json()["query"])
        meta = {"_meta": {"block": {"timestamp": 1_100}, "hasIndexingErrors": False}}
        awards = [{**each, "winner_submission_commitment": won.commitment} for each in (award, foreign)]
        bounties = awards if "Owed" in query else [found]
        return as_json({"data": {**meta, "roster_members": [{"version": 1}], "bounties": bounties}})

    api.scripts["subgraph"] = index
    words = ("guardian:judgeable", "--guardian-address", address)
    first = guardian.run(*words)
    assert first.names == ["guardian_judgeable.bounty", "guardian_judgeable.delivery_owed"]
    assert (first.events[0]["unopened"], first.events[0]["own_verdict"]) == ([judged.commitment], own)
    assert (first.last["bounty_id"], first.last["solver"]) == (won.bounty, won.solver)
    assert "1 of 1 Submissions not opened" in first.words
    guardian.run("guardian:open", *judged.names)
    guardian.run("guardian:deliver-key", *won.names)
    again = guardian.run(*words)
    assert again.names == ["guardian_judgeable.bounty"]
    assert again.last["unopened"] == []
