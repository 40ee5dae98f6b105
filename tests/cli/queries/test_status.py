"""``status``: accounts, and what waits for them by the contract."""

import json
from collections.abc import Callable
from dataclasses import replace

from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BountyId
from bounty_protocol.wire.deployment import DeploymentStatus
from bounty_protocol.wire.values import IndexState
from service_cli.client import Client

from tests.cli.api_twin import ApiTwin, refusal
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import Reply, Request
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Ran, Terminal

Tasks = list[tuple[object, object, object]]


def tasks_of(ran: Ran) -> Tasks:
    return [(each["bounty_id"], each["task"], each["until"]) for each in ran.events if each["event"] == "status.task"]


def showing(api: ApiTwin, *bounties: str | int) -> None:
    """The API lists these."""
    api.listed = {"items": [api.item(int(bounty)) for bounty in bounties], "next_cursor": None}


def test_status_of_a_poster_shows_what_waits(
    ledger: Ledger, api: ApiTwin, poster: Terminal, won: Submitted, ended: int
) -> None:
    account = ledger.people.poster.address
    refundable = ledger.ended_in_silence()
    showing(api, won.bounty, refundable)
    ran = poster.run("status")
    shown = ran.event("status.account")
    assert (shown["account"], shown["roles"]) == (account, ["poster", "claimant"])
    assert int(str(shown["balance_wei"])) > 0
    assert (str(refundable), "claim", None) in tasks_of(ran)
    commands = [str(event["command"]) for event in ran.events if event["event"] == "status.task"]
    assert ran.last["tasks"] == len(commands)
    claimed = poster.run("claim", str(refundable)).last
    assert claimed["claimable_amount"] == str(ESCROW)
    assert (str(refundable), "claim", None) not in tasks_of(poster.run("status"))


def test_status_shows_a_verdict_to_be_recorded(ledger: Ledger, api: ApiTwin, guardian: Terminal) -> None:
    bounty, _ = ledger.fund(seconds=500, judging=5_000)
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    showing(api, bounty)
    assert tasks_of(guardian.run("status")) == []
    ledger.reveal(bounty)
    view = api.hub.bounty(BountyId(bounty))
    assert view is not None
    assert tasks_of(guardian.run("status")) == [(str(bounty), "judge", view.judging_deadline)]
    wallet = ledger.people.guardians[0].wallet
    wallet.forget_nonce()
    ledger.contract.transact(wallet, "recordVerdict", bounty, 2, "0x" + "00" * 20, bytes(32), b"\1" * 32)
    assert tasks_of(guardian.run("status")) == []


def test_status_waits_for_the_winning_key(api: ApiTwin, poster: Terminal, guardian: Terminal, won: Submitted) -> None:
    load(api, won)
    showing(api, won.bounty)
    assert (won.bounty, "deliver", None) in tasks_of(guardian.run("status"))
    assert (won.bounty, "open", None) not in tasks_of(poster.run("status"))
    guardian.run("guardian:deliver-key", won.bounty)
    assert (won.bounty, "deliver", None) not in tasks_of(guardian.run("status"))
    ran = poster.run("status")
    assert (won.bounty, "open", None) in tasks_of(ran)
    commands = [str(event["command"]) for event in ran.events if event["event"] == "status.task"]
    assert f"service-cli poster:open-winning-submission {won.bounty}" in commands


def test_status_without_deliveries_says_so(api: ApiTwin, guardian: Terminal, won: Submitted) -> None:
    showing(api, won.bounty)
    asked: list[Request] = []

    def down(request: Request) -> Reply:
        asked.append(request)
        return refusal(503, "service_unavailable", "Delivery is down.", **{"Retry-After": "60"})

    api.scripts["status"] = down
    ran = guardian.run("status")
    assert ("Delivery is down." in ran.words, len(asked)) == (True, 1)
    assert (won.bounty, "deliver", None) not in tasks_of(ran)
    assert (ran.last["event"], ran.last["unknown"]) == ("status.done", 1)


def test_status_shows_nothing_invented(ledger: Ledger, api: ApiTwin, poster: Terminal, bounty: str) -> None:
    item: Callable[..., dict[str, object]] = api.item
    made = item(int(bounty), outcome=None)
    api.listed = {"items": [made, {**made, "bounty_id": "x"}, {**made, "bounty_id": "0"}], "next_cursor": None}
    ran = poster.run("status")
    assert tasks_of(ran) == []


def test_status_shows_lost_work_with_its_command(api: ApiTwin, solver: Terminal, won: Submitted) -> None:
    load(api, won)
    showing(api, won.bounty)
    assert "reupload" not in {task for _, task, _ in tasks_of(solver.run("status", "--address", won.solver))}
    false: dict[str, object] = {"bounty_id": won.bounty, "submission_commitment": "0x" + "11" * 32}
    api.lost = [false, {"bounty_id": won.bounty, "submission_commitment": won.commitment}]
    found = solver.run("status", "--address", won.solver)
    commands = [str(each["command"]) for each in found.events if each.get("task") == "reupload"]
    assert commands == [f"service-cli solver:submit {won.bounty} DIRECTORY"]
    api.scripts["subgraph"] = lambda _: refusal(400, "invalid_request", "Cannot query field.")
    away = solver.run("status", "--address", won.solver)
    assert "whether sealed work" in away.words
    assert "reupload" not in {task for _, task, _ in tasks_of(away)}
    known = Client(solver.environment).status([Address(won.solver)]).unknown
    assert f"whether sealed work of {won.solver} was lost" in known


def test_status_counts_what_the_service_lost(api: ApiTwin, solver: Terminal) -> None:
    hub = api.hub.address
    status = DeploymentStatus(IndexState.FOLLOWING, api.chain_id, hub, "0.1.0", None, None, None)
    shown: list[Reply] = []
    api.scripts["index"] = lambda _request: shown[-1]
    for lost, said in ((None, False), (0, False), (2, True)):
        shown.append((200, json.dumps(to_json(replace(status, lost_submission_count=lost))).encode(), {}))
        words = solver.run("status").words
        assert ("lacks sealed bytes of 2 recorded Submissions" in words) is said
