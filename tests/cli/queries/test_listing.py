"""Bounties as the API lists and shows them: as events, and as text at a terminal."""

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.terminal import Terminal


def test_list_prints_each_bounty_once(api: ApiTwin, poster: Terminal) -> None:
    api.listed = {"items": [{"bounty_id": "1", "facts": {}}, {"bounty_id": "2", "facts": {}}], "next_cursor": "c"}
    ran = poster.run("bounty:list", "--limit", "3", "--status", "open", "--accepting")
    assert [event["bounty_id"] for event in ran.events] == ["1", "2", "1"]
    queries = [request.query for request in api.server.requests if request.path == "/api/bounties"]
    assert queries[0] == "status=open&accepting=true&limit=3"
    assert queries[1] == "status=open&accepting=true&limit=1&cursor=c"


def test_list_asks_the_api_for_its_filters(api: ApiTwin, poster: Terminal) -> None:
    poster.run(
        "bounty:list", "--search", "tile set", "--min-award", "2.5 USDC", "--deadline-before", "2027-01-31",
        "--deadline-after", "2027-01-01T00:00Z", "--sort", "award",
    )  # fmt: skip
    (query,) = (request.query for request in api.server.requests if request.path == "/api/bounties")
    assert query == (
        "search=tile+set&min_award=2500000&deadline_before=1801439999&deadline_after=1798761600&sort=award&limit=20"
    )


def test_show__a_bounty__prints_what_the_api_answers(api: ApiTwin, poster: Terminal, ended: int) -> None:
    ran = poster.run("bounty:show", str(ended))
    assert (ran.last["event"], ran.last["bounty_id"]) == ("bounty_show.bounty", str(ended))
    other = "0x" + "ab" * 20
    mixed = Terminal(poster.home, {**poster.environment, "SERVICE_HUB_ADDRESS": other})
    assert mixed.run("bounty:show", str(ended), code=1).last["code"] == "deployment_mismatch"


@pytest.mark.parametrize("words", [["bounty:list"], ["guardian:judgeable", "--guardian-address", "0x" + "ab" * 20]])
def test_list_of_another_deployment_is_refused(api: ApiTwin, poster: Terminal, words: list[str]) -> None:
    api.listed = {"items": [{"bounty_id": "1", "facts": {}}], "next_cursor": None}
    other = poster.run(*words, "--network", "staging", code=1).last
    assert other["code"] == "deployment_mismatch"
    assert all(named in str(other["message"]) for named in ("31337 (local)", "84532 (staging)"))
    mixed = Terminal(poster.home, {**poster.environment, "SERVICE_HUB_ADDRESS": "0x" + "ab" * 20})
    refused = mixed.run(*words, code=1).last
    assert refused["code"] == "deployment_mismatch"
    assert all(hub in str(refused["message"]) for hub in ("0x" + "ab" * 20, api.hub.address))


def test_open_bounty_has_no_record_yet(ledger: Ledger, poster: Terminal) -> None:
    bounty, _ = ledger.fund()
    ran = poster.run("verification-record", str(bounty))
    assert ran.last["code"] == "bounty_open"
