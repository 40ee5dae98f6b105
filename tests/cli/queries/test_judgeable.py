"""``guardian:judgeable``: what waits for a Guardian, what it has not opened yet, and what it owes a Poster."""

import json
from typing import cast

import pytest
from service_cli.queries import judgeable

from tests.cli.api_twin import ApiTwin
from tests.cli.servers import Reply, Request, as_json
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal


@pytest.mark.spec(224, 225, 226)
def test_judgeable_says_what_is_left_to_do(api: ApiTwin, guardian: Terminal, judged: Submitted, won: Submitted) -> None:
    load(api, judged, won)
    address = api.ledger.people.guardians[0].address
    own = {
        "kind": "awarded",
        "solver_address": judged.solver,
        "submission_commitment": judged.commitment,
        "report_commitment": "0x" + "ef" * 32,
    }
    found: dict[str, object] = {
        "bounty_id": judged.bounty,
        "roster_version": 1,
        "reveal_at": 1_000,
        "judging_deadline": 2_000,
        "verdicts": [own],
        "submissions": [{"solver_address": judged.solver, "submission_commitment": judged.commitment}],
    }
    sealed = {**found, "bounty_id": "1000", "reveal_at": 2**40}
    of_others = {**found, "bounty_id": "1001", "roster_version": 9}
    award = {"bounty_id": won.bounty, "roster_version": 1, "winner_solver_address": won.solver}
    foreign = {"bounty_id": "77", "roster_version": 9, "winner_solver_address": won.solver}

    asked: list[str] = []

    def index(request: Request) -> Reply:
        asked.append(str(request.json()["query"]))
        awards = [{**each, "winner_submission_commitment": won.commitment} for each in (award, foreign)]
        bounties = {"bounties": [found, sealed, of_others], "awarded": awards}
        return as_json({"data": {**api.meta(), "seats": [{"version": 1}], **bounties}})

    api.scripts["subgraph"] = index
    words = ("guardian:judgeable", "--guardian-address", address)
    first = guardian.run(*words)
    assert len(asked) == 1
    assert not api.approvals()
    assert guardian.run("guardian:judgeable").events == first.events  # of the key's own account
    assert first.names == ["guardian_judgeable.bounty", "guardian_judgeable.delivery_owed"]
    assert (first.events[0]["unopened"], first.events[0]["own_verdict"]) == ([judged.commitment], own)
    assert (first.last["bounty_id"], first.last["solver"]) == (won.bounty, won.solver)
    guardian.run("guardian:open", *judged.names)
    guardian.run("guardian:deliver-key", *won.names)
    again = guardian.run(*words)
    assert again.names == ["guardian_judgeable.bounty"]
    assert again.last["unopened"] == []
    assert "replaced" not in again.last
    kept = guardian.home / "state/service-cli" / f"{api.ledger.node.chain_id}-{api.ledger.hub.hub.address}"
    name = f"verdict-{judged.bounty}-{address}"
    (kept / f"{name}-0x{'12' * 32}").mkdir()
    assert "replaced" not in guardian.run(*words).last  # begun here, and never signed
    signed = {"nonce": 1, "from_block": 1, "data": "0x", "fee_cap": "1", "fee_tip": "1", "raws": []}
    journal = json.dumps({"verdict_transaction": signed})
    (kept / f"{name}-{own['report_commitment']}").mkdir()
    (kept / f"{name}-{own['report_commitment']}/journal.json").write_text(journal)
    assert "replaced" not in guardian.run(*words).last  # it is the one that this machine recorded
    (kept / f"{name}-{own['report_commitment']}").rename(kept / f"{name}-0x{'34' * 32}")
    stolen = guardian.run(*words)
    assert stolen.last["replaced"] is True
    assert "your Verdict was replaced" in stolen.words
    assert "someone else has your account's key" in stolen.words


ADDRESS = "0x" + "ab" * 20


def numbered(count: int, start: int = 1, sealed: int = 0) -> list[dict[str, object]]:
    """That many bounties to judge, each with the first of its Submissions."""
    facts = {"roster_version": 1, "reveal_at": 1, "judging_deadline": 2, "verdicts": []}
    return [
        {**facts, "bounty_id": str(number), "submissions": sealed_by(sealed)} for number in range(start, start + count)
    ]


def sealed_by(count: int, start: int = 0) -> list[dict[str, object]]:
    """That many Submissions, in the order of their Solvers."""
    return [
        {"solver_address": f"0x{number:040x}", "submission_commitment": f"0x{number:064x}"}
        for number in range(start, start + count)
    ]


@pytest.mark.parametrize(
    ("bounties", "submissions"),
    [(numbered(100), []), (numbered(1, sealed=40), sealed_by(1_000))],
    ids=["bounties", "submissions"],
)
def test_index_that_repeats_a_page_fails(
    api: ApiTwin, guardian: Terminal, bounties: list[dict[str, object]], submissions: list[dict[str, object]]
) -> None:
    asked: list[str] = []

    def index(request: Request) -> Reply:
        asked.append(str(request.json()["query"]))
        assert len(asked) < 20
        lists: dict[str, object] = {f"s{number}": submissions for number in range(20)}
        rows = {"bounties": bounties, "awarded": [], **lists}
        return as_json({"data": {**api.meta(), "seats": [{"version": 1}], **rows}})

    api.scripts["subgraph"] = index
    ran = guardian.run("guardian:judgeable", "--guardian-address", ADDRESS, code=1)
    assert ran.last["code"] == "answer_malformed"


@pytest.mark.parametrize(
    ("most_bounties", "most_submissions", "shown", "unchecked"),
    [(200, 12_000, 200, "21, 22"), (20_000, 4_000, 100, "1, 2")],
    ids=["bounties", "submissions beside them"],
)
def test_endless_index_is_left_and_said(
    api: ApiTwin, guardian: Terminal, monkeypatch: pytest.MonkeyPatch,
    most_bounties: int, most_submissions: int, shown: int, unchecked: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(judgeable, "MOST_BOUNTIES", most_bounties)
    monkeypatch.setattr(judgeable, "MOST_SUBMISSIONS", most_submissions)

    def index(request: Request) -> Reply:
        asked = request.json()
        query, variables = str(asked["query"]), cast("dict[str, int]", asked["variables"])
        start = 1 if "Judgeable" in query else 101
        bounties = [] if "Submissions" in query else numbered(100, start, sealed=40)
        lists: dict[str, object] = {f"s{n}": sealed_by(variables["first"], start=40) for n in range(20)}
        rows = {"bounties": bounties, "awarded": [], **lists}
        return as_json({"data": {**api.meta(), "seats": [{"version": 1}], **rows}})

    api.scripts["subgraph"] = index
    ran = guardian.run("guardian:judgeable", "--guardian-address", ADDRESS)
    assert ran.names.count("guardian_judgeable.bounty") == shown
    assert f"only the oldest {shown} open bounties" in ran.words
    assert f"not all Submissions were checked, of bounty {unchecked}" in ran.words
