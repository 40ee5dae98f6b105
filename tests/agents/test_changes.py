"""Between prepare and carry out: whatever changes, nothing else than the plan is carried out."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId
from service_cli.acts.fund_events import FundedBounty, FundingPreview
from service_cli.acts.submit_events import SubmittedWork
from service_cli.chain import sender
from service_cli.client import Client
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.work import selection
from service_cli.work.selection import Selection
from service_mcp import plans
from service_mcp.work_dir import WorkDir

from tests.agents.conftest import MakeScene, Refused, Scene, policy_for
from tests.cli.scenes import Case, Stage, claim, fund, judge, seal


def _kept(scene: Scene, plan_id: str) -> Path:
    return Path(scene.case.home.home / f"state/service-cli/mcp/plans/{plan_id}.json")


@pytest.mark.parametrize(
    "other",
    [{"text": "It was me.\n"}, {"bounty_id": 1}, {"submission": "1"}, {"action": "claim"}, {"path": "work"}],
    ids=str,
)
def test_edited_plan_is_not_carried_out(scene: MakeScene, stage: Stage, other: dict[str, object]) -> None:
    """An agent with a shell can edit what the server keeps of a plan; its id is the digest of all of that."""
    found = scene(judge, policy_for(stage))
    with pytest.raises(Refused):
        found.agent.call("open_work", bounty_id=found.bounty_id)
    plan = found.agent.call(
        "prepare_verdict", bounty_id=found.bounty_id, reasons="None holds: tests fail.\n", none_valid=True
    )
    file = _kept(found, plan["plan_id"])
    plan_file = json.loads(file.read_text())
    file.write_text(json.dumps(plan_file | {"request": plan_file["request"] | other}))
    before = stage.ledger.nonce(found.case.account)
    with pytest.raises(Refused):
        found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert stage.ledger.nonce(found.case.account) == before


def test_claim_paid_meanwhile_is_found_paid(scene: MakeScene, stage: Stage) -> None:
    found = scene(claim, policy_for(stage))
    plan = found.agent.call("prepare_claim", bounty_id=found.bounty_id)
    found.case.home.run(*found.case.words)
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert refused.value.code == "award_already_claimed"


def test_killed_submission_goes_on_as_begun(scene: MakeScene, stage: Stage) -> None:
    found = scene(seal, policy_for(stage))
    plan = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    found.agent.call("carry_out", plan_id=plan["plan_id"])
    recorded = stage.ledger.submission(found.bounty_id, found.case.account)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == found.bounty_id
    assert stage.ledger.submission(found.bounty_id, found.case.account) == recorded
    (found.case.home.home / "work/main.py").write_text("print(3)\n")
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == found.bounty_id
    assert stage.ledger.submission(found.bounty_id, found.case.account) == recorded


def test_replaced_page_is_not_funded(scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent may write to the work dir at any moment: caps that saw another escrow than is signed bound nothing."""
    found = scene(fund, policy_for(stage))
    page: Path = found.case.home.home / "page.md"
    plan, given = found.agent.call("prepare_funding", path="page.md"), page.read_bytes()
    preview, funded, paid = Client.preview_funding, Client.fund, list[bytes]()

    def preview_slowly(client: Client, content: bytes, poster: Address | None = None) -> FundingPreview:
        answer = preview(client, content, poster)
        page.write_bytes(given.replace(b"escrow_amount: ", b"escrow_amount: 1"))
        return answer

    def fund_noted(client: Client, content: bytes) -> FundedBounty:
        paid.append(content)
        return funded(client, content)

    monkeypatch.setattr(Client, "preview_funding", preview_slowly)
    monkeypatch.setattr(Client, "fund", fund_noted)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["state"] == "recorded"
    assert paid == [given]


def test_begun_plan_keeps_to_todays_policy(scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    found = scene(fund, policy_for(stage))
    plan, before = found.agent.call("prepare_funding", path="page.md"), stage.ledger.nonce(found.case.account)

    def fail(_client: Client, _page: bytes) -> FundedBounty:
        raise CommandRefused("earlier_bounty_open", "One is.", next_action="Wait.")

    with monkeypatch.context() as patched:
        patched.setattr(Client, "fund", fail)
        with pytest.raises(Refused):
            found.agent.call("carry_out", plan_id=plan["plan_id"])
    with pytest.raises(Refused) as refused:
        found.agent.started_with(policy=policy_for(stage, most_spent_per_action=1)).call(
            "carry_out", plan_id=plan["plan_id"]
        )
    assert (refused.value.code, stage.ledger.nonce(found.case.account)) == ("policy_exceeded", before)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["state"] in {"recorded", "finalized"}


@pytest.mark.parametrize("of", [fund, seal, claim])
def test_sent_plan_is_settled_whatever_the_policy(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch, of: Callable[[Stage], Case]
) -> None:
    found = scene(of, policy_for(stage))
    if of is fund:
        plan = found.agent.call("prepare_funding", path="page.md")
    elif of is seal:
        plan = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    else:
        plan = found.agent.call("prepare_claim", bounty_id=found.bounty_id)
    before = stage.ledger.nonce(found.case.account)
    with monkeypatch.context() as patched:
        patched.setattr(sender, "RECEIPT_SECONDS", 0.0)
        with pytest.raises(Refused) as refused:
            found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert refused.value.code == "transaction_pending"
    nothing = dict.fromkeys(("most_spent_per_action", "most_gas_per_action", "most_actions_per_day"), 0)
    lowered = found.agent.started_with(policy=policy_for(stage, **nothing))
    assert lowered.call("carry_out", plan_id=plan["plan_id"])["state"] in {"recorded", "finalized"}
    assert stage.ledger.nonce(found.case.account) == before + 1


def test_verdict_beside_a_waiting_one_has_no_plan(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scene(judge, policy_for(stage))
    home, before = found.case.home, stage.rpc.sent()
    stage.rpc.lose_first_transaction()
    with monkeypatch.context() as patched:
        patched.setattr(sender, "RECEIPT_SECONDS", 0.3)
        assert home.run(*found.case.words, code=1).last["code"] == "transaction_pending"
    with pytest.raises(Refused) as refused:
        found.agent.call("prepare_verdict", bounty_id=found.bounty_id, reasons="Another.\n", none_valid=True)
    assert (refused.value.code, stage.rpc.sent()) == ("verdict_already_recorded", before + 1)


@pytest.mark.parametrize(
    "other", [{"chain_id": 84532}, {"hub_address": "0x" + "11" * 20}, {"account": "0x" + "11" * 20}]
)
def test_plan_of_another_account_is_not_carried_out(scene: MakeScene, stage: Stage, other: dict[str, Any]) -> None:
    """One state directory serves every network of its user."""
    found = scene(fund, policy_for(stage))
    plan, before = found.agent.call("prepare_funding", path="page.md"), stage.ledger.nonce(found.case.account)
    kept = plans.kept(plan["plan_id"])
    changed = replace(kept, exact=replace(kept.exact, actor=replace(kept.exact.actor, **other)))
    plans.keep(changed)
    with plans.read_once(kept.request, WorkDir(found.case.home.home)) as draft:
        plans.begin(changed, draft)
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=changed.plan_id)
    assert (refused.value.code, stage.ledger.nonce(found.case.account)) == ("plan_of_another", before)


def test_begun_submission_takes_no_newers_place(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scene(seal, policy_for(stage))

    def fail(_client: Client, _bounty_id: BountyId, _directory: Path, **_more: Any) -> SubmittedWork:
        raise CommandFailed("api_unreachable", "It is away.", next_action="Call again.")

    first = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    with monkeypatch.context() as patched:
        patched.setattr(Client, "submit", fail)
        with pytest.raises(Refused):
            found.agent.call("carry_out", plan_id=first["plan_id"])
    (found.case.home.home / "work/main.py").write_text("print(2)\n")
    better = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    found.agent.call("carry_out", plan_id=better["plan_id"])
    recorded = stage.ledger.submission(found.bounty_id, found.case.account)
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=first["plan_id"])
    assert refused.value.code == "plan_changed"
    assert stage.ledger.submission(found.bounty_id, found.case.account) == recorded


@pytest.mark.parametrize("part", ["work", "work/lib", "work/lib/main.py"])
def test_link_put_into_a_path_is_not_followed(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for top in (root / "work", outside):
        (top / "lib").mkdir(parents=True)
        (top / "lib/main.py").write_text("print(1)\n")

    def select(directory: Path) -> Selection:
        found = selection.select(directory)
        (root / part).rename(tmp_path / "gone")
        (root / part).symlink_to(outside / Path(part).relative_to("work"))
        return found

    monkeypatch.setattr("service_mcp.work_dir.select", select)
    with pytest.raises(ServiceError) as refused:
        WorkDir(root).copy("work", tmp_path / "copy")
    assert refused.value.code == "files_changed"
    assert not (tmp_path / "copy/lib/main.py").exists()


def test_file_that_grows_or_shrinks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    for number, text in enumerate(("12", "1234")):
        (tmp_path / "work/file").write_text("123")

        def select(directory: Path, text: str = text) -> Selection:
            found = selection.select(directory)
            (tmp_path / "work/file").write_text(text)
            return found

        monkeypatch.setattr("service_mcp.work_dir.select", select)
        with pytest.raises(ServiceError) as refused:
            WorkDir(tmp_path).copy("work", tmp_path / str(number))
        assert refused.value.code == "files_changed"


@pytest.mark.parametrize(
    ("of", "tool", "path"),
    [(fund, "prepare_funding", "page.md"), (seal, "prepare_submission", "work")],
    ids=["fund", "submit"],
)
def test_act_a_reorg_takes_back_is_done_again(
    scene: MakeScene, stage: Stage, of: Callable[[Stage], Case], tool: str, path: str
) -> None:
    found, node = scene(of, policy_for(stage)), stage.ledger.node
    named: dict[str, object] = {"path": path}
    if of is not fund:
        named["bounty_id"] = found.bounty_id
    plan = found.agent.call(tool, **named)
    before, head = stage.ledger.nonce(found.case.account), node.w3.eth.block_number
    first = found.agent.call("carry_out", plan_id=plan["plan_id"])
    node.rpc.call("anvil_reorg", node.w3.eth.block_number - head, [])
    assert stage.ledger.nonce(found.case.account) == before, "its transactions are gone"
    again = found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert (first["state"], again["state"]) == ("recorded", "recorded")
    assert stage.ledger.nonce(found.case.account) > before
    node.mine(3)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"]) == {**again, "state": "finalized"}
