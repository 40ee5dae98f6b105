"""What each tool returns, and what it refuses."""

import asyncio
import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import NoReturn

import pytest
import service_cli
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, parse_address
from bounty_protocol.wire.bounties import Block, BountyItem
from bounty_protocol.wire.values import Finality
from service_cli.errors import CommandRefused
from service_mcp import plans
from service_mcp.policy import Role
from service_mcp.reading import Limits
from service_mcp.server import make_server

from tests.agents.conftest import Agent, MakeScene, Refused, policy_for
from tests.cli.api_twin import refusal
from tests.cli.ledger import ESCROW
from tests.cli.scenes import Case, Stage, claim, fund, judge, open_work, receive, seal
from tests.vectors.samples import FACTS

AWARD = ESCROW * 96 // 100

ENDED = {"recorded", "finalized"}
"""States of a plan whose transaction is on the chain."""


def test_reading_keeps_strangers_text_apart(scene: MakeScene, stage: Stage) -> None:
    found = scene(claim, roles=frozenset())
    bounty = found.agent.call("get_bounty", bounty_id=found.bounty_id)
    assert (bounty["state"], bounty["award"]["base_units"]) == ("awarded", str(AWARD))
    assert bounty["untrusted"]["page"].startswith("---")
    evaluation = found.agent.call("evaluate_bounty", bounty_id=found.bounty_id)
    assert "no Submission is accepted since" in evaluation["blockers"][0]
    assert int(evaluation["gas_at_most_wei"]) > 0
    status = found.agent.call("my_status")
    assert [*status["accounts"]] == [found.case.account]
    assert status["unknown"] == []
    stage.api.scripts["subgraph"] = lambda _: refusal(400, "invalid_request", "Cannot query field.")
    status = found.agent.call("my_status")
    assert status["unknown"] == [f"whether sealed work of {found.case.account} was lost"], "and nothing of its answer"


@pytest.mark.parametrize(
    ("submissions", "accepting", "judgeable", "state"),
    [(0, True, False, "accepting"), (1, False, True, "judging"), (0, False, True, "to settle")],
)
def test_bounty_without_work_is_not_judged(
    scene: MakeScene, stage: Stage, submissions: int, accepting: bool, judgeable: bool, state: str
) -> None:
    facts = replace(FACTS, outcome=None, accepting=accepting, judgeable=judgeable)
    block = Block(BlockNumber(1), Bytes32("0x" + "11" * 32))
    item = BountyItem(BountyId(1), facts, submissions, Finality.FINALIZED, block)
    stage.api.listed = {"items": [to_json(item)], "next_cursor": None}
    (found,) = scene(claim, roles=frozenset()).agent.call("find_bounties")["bounties"]
    assert found["state"] == state


def test_funding_by_a_policy_is_done_once(scene: MakeScene, stage: Stage) -> None:
    found = scene(fund, policy_for(stage))
    plan = found.agent.call("prepare_funding", path="page.md")
    assert (plan["spends"]["base_units"], plan["signed_by"]) == (str(ESCROW), "policy")
    before = stage.ledger.nonce(found.case.account)
    done = found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert done["state"] in ENDED
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == done["bounty_id"]
    assert stage.ledger.nonce(found.case.account) == before + 1


def test_submission_and_claim_by_a_policy(scene: MakeScene, stage: Stage) -> None:
    work = scene(seal, policy_for(stage))
    plan = work.agent.call("prepare_submission", bounty_id=work.bounty_id, path="work")
    assert (plan["files"], plan["file_count"]) == (["main.py"], 1)
    assert work.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == work.bounty_id
    assert stage.ledger.submission(work.bounty_id, work.case.account) != "0x" + "00" * 32
    paid = scene(claim, policy_for(stage))
    plan = paid.agent.call("prepare_claim", bounty_id=paid.bounty_id)
    assert plan["receives"]["base_units"] == str(AWARD)
    assert paid.agent.call("carry_out", plan_id=plan["plan_id"])["state"] in ENDED
    with pytest.raises(Refused) as refused:
        paid.agent.call("prepare_claim", bounty_id=paid.bounty_id)
    assert refused.value.code == "award_already_claimed"


def refund(stage: Stage) -> Case:
    """Nobody submitted: the escrow goes back."""
    account = stage.ledger.people.poster.address
    return Case(stage.home("poster"), ("claim", str(stage.ledger.ended_in_silence())), "claim.claimed", account)


def test_claim_is_of_the_account_that_is_owed(scene: MakeScene, stage: Stage) -> None:
    people = stage.ledger.people
    keys = {**people.poster.variables(), **people.solvers[1].variables()}
    del keys["SERVICE_CLAIMANT_PRIVATE_KEY"]
    for of in (claim, refund):
        found = scene(of, policy_for(stage))
        values = {name: value for name, value in found.case.home.environment.items() if "PRIVATE_KEY" not in name}
        agent = found.agent.started_with(values=values | keys)
        plan = agent.call("prepare_claim", bounty_id=found.bounty_id)
        assert plan["account"] == found.case.account
        assert agent.call("carry_out", plan_id=plan["plan_id"])["state"] in ENDED


def test_claim_is_signed_with_the_key_of_its_plan(scene: MakeScene, stage: Stage) -> None:
    poster = stage.ledger.people.poster
    found = scene(claim, policy_for(stage, roles=("solver",)))
    values = {name: value for name, value in found.case.home.environment.items() if "CLAIMANT" not in name}
    keys = {name: value for name, value in poster.variables().items() if "CLAIMANT" not in name}
    agent = found.agent.started_with(values={**keys, **values}, roles=frozenset({"solver"}))
    plan = agent.call("prepare_claim", bounty_id=found.bounty_id)
    before = stage.ledger.nonce(poster.address)
    assert agent.call("carry_out", plan_id=plan["plan_id"])["state"] in ENDED
    assert stage.ledger.nonce(poster.address) == before


def test_guardian_by_a_policy_opens_and_judges(scene: MakeScene, stage: Stage) -> None:
    opening = scene(open_work, policy_for(stage, roles=("guardian",)))
    opened = opening.agent.call("open_work", bounty_id=opening.bounty_id)
    assert (opened["opened"], Path(opened["directory"]).is_dir()) == (1, True)
    stage.api.wraps.clear()
    assert opening.agent.call("deliver_key", bounty_id=opening.bounty_id) == {
        "bounty_id": opening.bounty_id, "was_there": False,
    }  # fmt: skip
    judging = scene(judge, policy_for(stage))
    plan = judging.agent.call(
        "prepare_verdict", bounty_id=judging.bounty_id, reasons="None holds: tests fail.\n", none_valid=True
    )
    for tool, arguments, code in (
        ("carry_out", {"plan_id": plan["plan_id"]}, "work_not_opened"),
        ("open_work", {"bounty_id": judging.bounty_id}, "submissions_not_opened"),  # the twin has no such bytes
        ("carry_out", {"plan_id": plan["plan_id"]}, "work_not_opened"),
    ):
        with pytest.raises(Refused) as refused:
            judging.agent.call(tool, **arguments)
        assert refused.value.code == code


def test_work_left_out_for_its_size_is_counted(scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Verdict names a winner among what was opened: an agent has to know that there is more."""
    found = scene(open_work, policy_for(stage, roles=("guardian",)))
    with monkeypatch.context() as patched:
        patched.setattr("service_cli.work.opening.SEALED_BYTES", 0)
        opened = found.agent.call("open_work", bounty_id=found.bounty_id)
    assert (opened["opened"], opened["not_opened"]) == (0, 1)
    opened = found.agent.call("open_work", bounty_id=found.bounty_id)
    assert (opened["opened"], opened["not_opened"]) == (1, 0)


def test_full_disk_is_told_and_goes_on_later(scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    found = scene(claim, policy_for(stage))
    plan = found.agent.call("prepare_claim", bounty_id=found.bounty_id)

    def fail(*_arguments: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(plans, "sync_folder", fail)
        with pytest.raises(Refused) as refused:
            found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert refused.value.code == "state_not_written"
    assert "No space left" in str(refused.value)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["state"] in ENDED


@pytest.mark.parametrize(("judges", "opened"), [(False, "winning"), (True, "opened")])
def test_opened_work_is_the_winners_unless_judged(scene: MakeScene, stage: Stage, judges: bool, opened: str) -> None:
    found, people = scene(receive, policy_for(stage)), stage.ledger.people
    guardian = people.guardians[0].variables()
    if not judges:
        guardian["SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"] = people.owner.wallet.private_key
    agent = found.agent.started_with(values={**found.agent.options.values, **guardian})
    work = agent.call("open_work", bounty_id=found.bounty_id)
    assert Path(work["directory"]).relative_to(found.case.home.home).parts[0] == opened


@pytest.mark.parametrize(("of", "tool", "arguments"), [
    (fund, "prepare_funding", {"path": "page.md"}),
    (judge, "prepare_verdict", {"reasons": "None holds: tests fail.\n", "none_valid": True}),
])  # fmt: skip
def test_without_a_policy_the_pages_are_named(
    scene: MakeScene, stage: Stage, of: Callable[[Stage], Case], tool: str, arguments: dict[str, object]
) -> None:
    found = scene(of)
    if of is judge:
        arguments = {**arguments, "bounty_id": found.bounty_id}
    plan = found.agent.call(tool, **arguments)
    assert plan["signed_by"] == "wallet"
    before = stage.ledger.nonce(found.case.account)
    done = found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert (done["state"], done["address"].startswith("https://pages.example/")) == ("needs_wallet", True)
    assert stage.ledger.nonce(found.case.account) == before
    (found.case.home.home / "body.md").write_text("None holds: tests fail.\n")
    found.case.home.run(*found.case.words)  # the person does it
    if of is fund:
        stage.ledger.advance_to(stage.ledger.time() + 3_000)  # no bounty could be made of the page any more
        assert found.agent.call("carry_out", plan_id=plan["plan_id"])["state"] == "recorded"
        return
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert refused.value.code == "verdict_already_recorded"


@pytest.mark.parametrize("path", ["..", "../..", "/etc", "~/.ssh", ".", "opened/7", "winning", "link", "gone", "a\0b"])
def test_files__from_elsewhere__never_leave(scene: MakeScene, stage: Stage, tmp_path: Path, path: str) -> None:
    found = scene(seal, policy_for(stage))
    (found.case.home.home / "opened/7").mkdir(parents=True)
    (found.case.home.home / "winning").mkdir()
    (tmp_path / "outside").mkdir()
    (found.case.home.home / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(Refused) as refused:
        found.agent.call("prepare_submission", bounty_id=found.bounty_id, path=path)
    assert refused.value.code in {"outside_work_dir", "not_own_work", "file_not_found"}


def test_secrets_among_files_are_refused(scene: MakeScene, stage: Stage) -> None:
    found = scene(seal, policy_for(stage))
    (found.case.home.home / "work/.env").write_text("TOKEN=x\n")
    with pytest.raises(Refused) as refused:
        found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    assert refused.value.code == "secrets_found"
    allowed = scene(seal, policy_for(stage, allow_secret_files=True))
    (allowed.case.home.home / "work/.env").write_text("TOKEN=x\n")
    plan = allowed.agent.call("prepare_submission", bounty_id=allowed.bounty_id, path="work")
    assert allowed.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == allowed.bounty_id


def test_plan__of_nobody__is_unknown(scene: MakeScene) -> None:
    agent: Agent = scene(fund).agent
    for plan_id in ("0" * 64, "../../etc/passwd", ""):
        with pytest.raises(Refused) as refused:
            agent.call("carry_out", plan_id=plan_id)
        assert refused.value.code == "plan_unknown"


@pytest.mark.parametrize(("account", "refused"), [(None, False), ("own", False), ("other", True)])
def test_key_of_another_account_does_not_start(
    scene: MakeScene, stage: Stage, account: str | None, refused: bool
) -> None:
    found = scene(claim, policy_for(stage, roles=("solver",)))
    named: dict[str | None, dict[Role, Address]] = {
        None: {},
        "own": {"solver": parse_address(found.case.account)},
        "other": {"solver": parse_address(stage.ledger.people.poster.address)},
    }
    options = replace(
        found.agent.options,
        roles=frozenset({"solver"}),
        accounts=named[account],
    )
    if not refused:
        assert asyncio.run(make_server(options).list_tools())
        return
    with pytest.raises(ServiceError) as error:
        make_server(options)
    assert error.value.code == "key_of_another"
    assert asyncio.run(make_server(replace(options, policy=None)).list_tools())  # a wallet signs


@pytest.mark.parametrize(
    ("tool", "of_client", "arguments"),
    [
        ("my_status", "status", {}),
        ("check_page", "check_page", {"text": "# A page"}),
    ],
)
def test_too_many_heavy_calls_are_refused(
    scene: MakeScene, monkeypatch: pytest.MonkeyPatch, tool: str, of_client: str, arguments: dict[str, object]
) -> None:
    found = scene(claim, roles=frozenset(), limits=Limits(at_once=1))
    going, goes_on = Event(), Event()

    def answer(*_arguments: object, **_more: object) -> NoReturn:
        going.set()
        goes_on.wait(10)
        raise CommandRefused("bounty_open", "It is open.", next_action="Wait.")

    monkeypatch.setattr(service_cli.Client, of_client, answer)
    agent = replace(found.agent, server=make_server(found.agent.options))
    codes: list[object] = []

    def call() -> None:
        try:
            agent.call(tool, **arguments)
        except Refused as refused:
            codes.append(refused.code)

    first = Thread(target=call)
    first.start()
    going.wait(10)
    call()
    goes_on.set()
    first.join()
    call()
    assert codes == ["server_busy", "bounty_open", "bounty_open"]


@pytest.mark.parametrize("path", ["..", "/etc/passwd", "work", ".", "gone", "link"])
def test_page__from_elsewhere_or_no_file__is_not_read(scene: MakeScene, stage: Stage, path: str) -> None:
    found = scene(fund, policy_for(stage))
    (found.case.home.home / "work").mkdir()
    (found.case.home.home / "link").symlink_to("/etc/passwd")
    for tool in ("check_page", "prepare_funding"):
        with pytest.raises(Refused) as refused:
            found.agent.call(tool, path=path)
        assert refused.value.code in {"outside_work_dir", "file_not_found"}
