"""What an agent gives a tool is what it meant, or is refused with the argument's name."""

import json
from pathlib import Path

import pytest
from bounty_protocol.types import BountyId
from service_cli import Client
from service_cli import Refused as ClientRefused
from service_mcp.server import ACTING, READING

from tests.agents.conftest import MakeScene, Refused, policy_for
from tests.cli.scenes import Stage, claim, judge

REASONS = "None holds: tests fail.\n"
LISTED = {
    tool["name"]: tool["inputSchema"]
    for tool in json.loads((Path(__file__).parent / "tools.json").read_text(encoding="utf-8"))
}


def numbers(schema: object) -> list[int]:
    """Every number of a schema: a reader may keep no whole number above 2^53."""
    if isinstance(schema, dict):
        return [each for value in schema.values() for each in numbers(value)]
    if isinstance(schema, list):
        return [each for value in schema for each in numbers(value)]
    return [schema] if isinstance(schema, int) and not isinstance(schema, bool) else []


def test_schemas_are_closed_where_a_tool_acts() -> None:
    assert {name for name, schema in LISTED.items() if schema.get("additionalProperties") is False} == {*ACTING}
    assert all(abs(each) <= 2**53 for schema in LISTED.values() for each in numbers(schema))
    assert "exclusiveMaximum" not in json.dumps(LISTED)


@pytest.mark.parametrize("tool", ACTING)
def test_tool_that_acts_refuses_unknown_arguments(scene: MakeScene, stage: Stage, tool: str) -> None:
    found = scene(judge, policy_for(stage))
    needed = {"bounty_id": found.bounty_id, "reasons": REASONS, "path": "page.md", "plan_id": "0" * 64}
    given = {name: needed[name] for name in LISTED[tool]["required"]}
    with pytest.raises(Refused) as refused:
        found.agent.call(tool, **given, submission_commitment="0x" + "11" * 32)
    assert (refused.value.code, [*refused.value.fields]) == (
        "invalid_request",
        ["code", "message", "next_action", "issues"],
    )
    assert [issue.partition(":")[0] for issue in refused.value.fields["issues"]] == ["submission_commitment"]


@pytest.mark.parametrize("tool", READING)
def test_tool_that_reads_ignores_unknown_arguments(scene: MakeScene, tool: str) -> None:
    """Some clients add their own to every call."""
    found = scene(claim, roles=frozenset())
    given = {"bounty_id": found.bounty_id, "text": "# A page"}
    known = {name: value for name, value in given.items() if name in LISTED[tool]["properties"]}
    assert found.agent.call(tool, **known, sessionId="1")


@pytest.mark.parametrize("outcome", [
    {},
    {"submission": None},
    {"submission": "null"},
    {"submission": ""},
    {"submission": "first"},
    {"submission": 7},
    {"none_valid": False},
    {"none_valid": "null"},
    {"none_valid": True, "submission": "0x" + "11" * 8},
], ids=str)  # fmt: skip
def test_verdict_without_one_outcome_is_refused(scene: MakeScene, stage: Stage, outcome: dict[str, object]) -> None:
    found = scene(judge, policy_for(stage))
    with pytest.raises(Refused) as refused:
        found.agent.call("prepare_verdict", bounty_id=found.bounty_id, reasons=REASONS, **outcome)
    assert refused.value.code == "invalid_request"
    assert {"message", "next_action"} <= refused.value.fields.keys()


def test_none_valid_is_an_argument_of_its_own(scene: MakeScene, stage: Stage) -> None:
    found = scene(judge, policy_for(stage))
    plan = found.agent.call("prepare_verdict", bounty_id=found.bounty_id, reasons=REASONS, none_valid=True)
    assert (plan["action"], plan["account"]) == ("verdict", found.case.account)


@pytest.mark.parametrize("submission", ["first", "0x11", ""])
def test_client_refuses_what_names_no_submission(scene: MakeScene, stage: Stage, submission: str) -> None:
    found = scene(judge)
    client, bounty = Client(dict(found.case.home.environment)), BountyId(found.bounty_id)
    for call in (client.preview_verdict, client.record_verdict):
        with pytest.raises(ClientRefused) as refused:
            call(bounty, REASONS, submission)
        assert refused.value.code == "invalid_request"
    with pytest.raises(ClientRefused) as refused:
        client.open_submission(bounty, submission, Path("opened"))
    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize(("tool", "arguments", "name"), [
    ("get_bounty", {}, "bounty_id"),
    ("get_bounty", {"bounty_id": 0}, "bounty_id"),
    ("get_bounty", {"bounty_id": 2**53 + 1}, "bounty_id"),
    ("get_bounty", {"bounty_id": "seven"}, "bounty_id"),
    ("find_bounties", {"sort": "size"}, "sort"),
    ("find_bounties", {"min_award": 2**53 + 1}, "min_award"),
    ("find_bounties", {"min_award": True}, "min_award"),
    ("find_bounties", {"min_award": 2.5}, "min_award"),
    ("check_page", {"text": ["# A page"]}, "text"),
], ids=str)  # fmt: skip
def test_bad_argument_is_named(scene: MakeScene, tool: str, arguments: dict[str, object], name: str) -> None:
    with pytest.raises(Refused) as refused:
        scene(claim, roles=frozenset()).agent.call(tool, **arguments)
    assert refused.value.code == "invalid_request"
    assert {issue.partition(":")[0].partition(".")[0] for issue in refused.value.fields["issues"]} == {name}


@pytest.mark.parametrize(("tool", "name"), [("check_page", "text"), ("find_bounties", "search")])
def test_half_a_character_is_refused(scene: MakeScene, tool: str, name: str) -> None:
    with pytest.raises(Refused) as refused:
        scene(claim, roles=frozenset()).agent.call(tool, **{name: "\ud800"})
    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize("amount", [25, 2**53])
def test_whole_number_is_an_amount_of_tokens(scene: MakeScene, stage: Stage, amount: int) -> None:
    agent = scene(claim, roles=frozenset()).agent
    for given in (amount, f"{amount}.00"):
        agent.call("find_bounties", min_award=given)
    asked = [found.query for found in stage.api.server.requests if "min_award" in found.query]
    assert len(asked) == 2
    assert asked[0] == asked[1]


@pytest.mark.parametrize("text", ['["# A page"]', "null", "{}", "true"])
def test_text_like_json_stays_text(scene: MakeScene, text: str) -> None:
    agent = scene(claim, roles=frozenset()).agent
    assert agent.call("check_page", text=text)["issues"]
    assert agent.call("find_bounties", search=text) == {"bounties": []}
    accounts = json.dumps(["0x" + "11" * 20])
    assert "0x" + "11" * 20 in agent.call("my_status", accounts=accounts)["accounts"], "a list may come as JSON"
