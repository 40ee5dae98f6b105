"""Between prepare and carry out: whatever changes, nothing else than the plan is carried out."""

import json
import os
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
from service_cli.disk import state_below
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.work import selection
from service_cli.work.selection import Selection
from service_mcp import plans
from service_mcp.work_dir import WorkDir

from tests.agents.conftest import MakeScene, Refused, Scene, policy_for
from tests.cli.scenes import Case, Stage, claim, fund, judge, seal

Change = Callable[[Scene], None]


def write(name: str, text: str) -> Change:
    def change(scene: Scene) -> None:
        path = scene.case.home.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    return change


def same_size_and_time(scene: Scene) -> None:
    """Other bytes under the same name, size and time, as a program would that looks at those alone."""
    path = scene.case.home.home / "work/main.py"
    status = path.stat()
    path.write_text("print(2)\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def remove(scene: Scene) -> None:
    (scene.case.home.home / "work/main.py").unlink()
    (scene.case.home.home / "work/other.py").write_text("print(1)\n")


@pytest.mark.parametrize(
    "change",
    [write("work/main.py", "print(2)\n"), write("work/more.py", ""), same_size_and_time, remove],
    ids=["content", "one more", "content alone", "a name"],
)
def test_files__that_change__are_not_submitted(scene: MakeScene, stage: Stage, change: Change) -> None:
    found = scene(seal, policy_for(stage))
    plan = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    change(found)
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert refused.value.code == "plan_changed"
    assert int(stage.ledger.submission(found.bounty_id, found.case.account), 16) == 0


@pytest.mark.parametrize("change", ["escrow_amount: ", "title: ", "judging_window_seconds: "])
def test_page__that_changes__is_not_funded(scene: MakeScene, stage: Stage, change: str) -> None:
    found = scene(fund, policy_for(stage))
    page: Path = found.case.home.home / "page.md"
    plan, before = found.agent.call("prepare_funding", path="page.md"), stage.ledger.nonce(found.case.account)
    page.write_text(page.read_text().replace(change, f"{change}1"))
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert refused.value.code in {"plan_changed", "balance_insufficient", "terms_not_accepted"}
    assert stage.ledger.nonce(found.case.account) == before


def _kept(scene: Scene, plan_id: str) -> Path:
    return Path(scene.case.home.home / f"state/service-cli/mcp/plans/{plan_id}.json")


@pytest.mark.parametrize(
    "other",
    [{"text": "It was me.\n"}, {"bounty_id": 1}, {"submission": "1"}, {"action": "claim"}, {"path": "work"}],
    ids=str,
)
def test_plan__whose_file_is_edited__is_not_carried_out(
    scene: MakeScene, stage: Stage, other: dict[str, object]
) -> None:
    """An agent with a shell can edit what the server keeps of a plan; its id is the digest of all of that."""
    found = scene(judge, policy_for(stage))
    with pytest.raises(Refused):
        found.agent.call("open_work", bounty_id=found.bounty_id)
    plan = found.agent.call("prepare_verdict", bounty_id=found.bounty_id, reasons="None holds: tests fail.\n")
    file = _kept(found, plan["plan_id"])
    plan_file = json.loads(file.read_text())
    file.write_text(json.dumps(plan_file | {"request": plan_file["request"] | other}))
    before = stage.ledger.nonce(found.case.account)
    with pytest.raises(Refused):
        found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert stage.ledger.nonce(found.case.account) == before


def test_claim__prepared_and_paid_by_somebody_meanwhile__is_found_paid(scene: MakeScene, stage: Stage) -> None:
    found = scene(claim, policy_for(stage))
    plan = found.agent.call("prepare_claim", bounty_id=found.bounty_id)
    found.case.home.run(*found.case.words)
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert refused.value.code == "award_already_claimed"


def test_submission__begun_and_killed__goes_on_with_what_it_was_begun_with(scene: MakeScene, stage: Stage) -> None:
    found = scene(seal, policy_for(stage))
    plan = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    found.agent.call("carry_out", plan_id=plan["plan_id"])
    recorded = stage.ledger.submission(found.bounty_id, found.case.account)
    _kept(found, plan["plan_id"]).with_suffix(".done").unlink()  # as where it was killed before it noted the end
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == found.bounty_id
    assert stage.ledger.submission(found.bounty_id, found.case.account) == recorded
    _kept(found, plan["plan_id"]).with_suffix(".done").unlink()
    (found.case.home.home / "work/main.py").write_text("print(3)\n")
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == found.bounty_id
    assert stage.ledger.submission(found.bounty_id, found.case.account) == recorded


def test_page__replaced_while_its_plan_is_carried_out__is_not_the_one_that_is_funded(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_files__replaced_while_their_plan_is_carried_out__are_not_those_that_are_sealed(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scene(seal, policy_for(stage))
    file: Path = found.case.home.home / "work/main.py"
    plan, given = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work"), file.read_bytes()
    sealed, submit = list[bytes](), Client.submit

    def submit_late(client: Client, bounty_id: BountyId, directory: Path, **more: Any) -> SubmittedWork:
        file.write_text("print(4)\n")
        sealed.append((directory / "main.py").read_bytes())
        return submit(client, bounty_id, directory, **more)

    monkeypatch.setattr(Client, "submit", submit_late)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == found.bounty_id
    assert sealed == [given]


def test_plan__that_a_wallet_was_to_approve__is_checked_again_where_a_policy_signs(
    scene: MakeScene, stage: Stage
) -> None:
    asked = scene(fund)
    plan = asked.agent.call("prepare_funding", path="page.md")
    assert asked.agent.call("carry_out", plan_id=plan["plan_id"])["state"] == "needs_wallet"
    with pytest.raises(Refused) as refused:
        asked.agent.started_with(policy=policy_for(stage, most_spent_per_action=1)).call(
            "carry_out", plan_id=plan["plan_id"]
        )
    assert refused.value.code == "policy_exceeded"


def test_plan__that_was_begun__is_held_to_the_policy_of_the_server_that_goes_on(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scene(fund, policy_for(stage))
    plan, before = found.agent.call("prepare_funding", path="page.md"), stage.ledger.nonce(found.case.account)

    def fail(_client: Client, _page: bytes) -> FundedBounty:
        raise CommandRefused("earlier_bounty_open", "One is.", next_action="Wait.")

    with monkeypatch.context() as patched:
        patched.setattr(Client, "fund", fail)
        with pytest.raises(Refused):
            found.agent.call("carry_out", plan_id=plan["plan_id"])
    begun, page = _kept(found, plan["plan_id"]).with_suffix(".begun"), found.case.home.home / "page.md"
    given, began_at = page.read_bytes(), begun.stat().st_mtime
    os.utime(begun, (0, 0))  # long ago: it is derived anew, from the page as it is now
    page.write_bytes(given + b"More.\n")
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=plan["plan_id"])
    assert refused.value.code == "plan_changed"
    os.utime(begun, (began_at, began_at))
    with pytest.raises(Refused) as refused:
        found.agent.started_with(policy=policy_for(stage, most_spent_per_action=1)).call(
            "carry_out", plan_id=plan["plan_id"]
        )
    assert (refused.value.code, stage.ledger.nonce(found.case.account)) == ("policy_exceeded", before)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["state"] in {"recorded", "finalized"}


@pytest.mark.parametrize("of", [fund, seal, claim])
def test_plan__whose_transaction_was_sent__is_settled_whatever_the_policy_permits_by_now(
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


@pytest.mark.parametrize(
    "other", [{"chain_id": 84532}, {"hub_address": "0x" + "11" * 20}, {"account": "0x" + "11" * 20}]
)
def test_plan__that_was_begun_elsewhere_or_by_another_account__is_not_carried_out(
    scene: MakeScene, stage: Stage, other: dict[str, Any]
) -> None:
    """One state directory serves every network of its user."""
    found = scene(fund, policy_for(stage))
    plan, before = found.agent.call("prepare_funding", path="page.md"), stage.ledger.nonce(found.case.account)
    with state_below(found.case.home.home / "state/service-cli"):
        kept = plans.kept(plan["plan_id"])
        exact = replace(kept.exact, **other)
        plan_id = plans.plan_id_of(kept.request, exact)
        plans.keep(plan_id, kept.request, exact)
        plans.begin(plan_id, kept.request, plans.Content((found.case.home.home / "page.md").read_bytes()))
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=plan_id)
    assert (refused.value.code, stage.ledger.nonce(found.case.account)) == ("plan_of_another", before)


@pytest.mark.parametrize("is_recorded", [False, True], ids=["failed", "recorded"])
def test_submission__begun_before_another_was_recorded__does_not_take_its_place(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch, *, is_recorded: bool
) -> None:
    found = scene(seal, policy_for(stage))

    def fail(_client: Client, _bounty_id: BountyId, _directory: Path, **_more: Any) -> SubmittedWork:
        raise CommandFailed("api_unreachable", "It is away.", next_action="Call again.")

    first = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    if is_recorded:
        found.agent.call("carry_out", plan_id=first["plan_id"])
        _kept(found, first["plan_id"]).with_suffix(".done").unlink()  # as where an endpoint has no receipt of it
    else:
        with monkeypatch.context() as patched:
            patched.setattr(Client, "submit", fail)
            with pytest.raises(Refused):
                found.agent.call("carry_out", plan_id=first["plan_id"])
    (found.case.home.home / "work/main.py").write_text("print(2)\n")
    better = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    found.agent.call("carry_out", plan_id=better["plan_id"])
    recorded, before = (
        stage.ledger.submission(found.bounty_id, found.case.account),
        stage.ledger.nonce(found.case.account),
    )
    with pytest.raises(Refused) as refused:
        found.agent.call("carry_out", plan_id=first["plan_id"])
    assert refused.value.code == "plan_changed"
    assert stage.ledger.submission(found.bounty_id, found.case.account) == recorded
    assert stage.ledger.nonce(found.case.account) == before


def test_files__that_are_put_back__are_a_plan_of_their_own_and_count_again(scene: MakeScene, stage: Stage) -> None:
    found = scene(seal, policy_for(stage))
    ids, recorded = list[str](), list[str]()
    for text in ("print(1)\n", "print(2)\n", "print(1)\n"):
        (found.case.home.home / "work/main.py").write_text(text)
        plan = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
        assert found.agent.call("carry_out", plan_id=plan["plan_id"])["state"] in {"recorded", "finalized"}
        ids.append(plan["plan_id"])
        recorded.append(stage.ledger.submission(found.bounty_id, found.case.account))
    assert (len(set(ids)), len(set(recorded))) == (3, 3)
    before = stage.ledger.nonce(found.case.account)
    for plan_id in ids:  # as an agent that asks what came of each
        assert found.agent.call("carry_out", plan_id=plan_id)["state"] in {"recorded", "finalized"}
    assert stage.ledger.nonce(found.case.account) == before


@pytest.mark.parametrize("part", ["work", "work/lib", "work/lib/main.py"])
def test_part_of_a_path__replaced_by_a_link_after_it_was_looked_at__is_not_followed(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_files__of_a_submission_that_was_done_long_ago__are_not_kept(scene: MakeScene, stage: Stage) -> None:
    found = scene(seal, policy_for(stage))
    asked = {"bounty_id": found.bounty_id, "path": "work"}
    plan = found.agent.call("prepare_submission", **asked)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["state"] == "recorded"
    kept, done = (_kept(found, plan["plan_id"]).with_suffix(suffix) for suffix in (".files", ".done"))
    found.agent.call("prepare_submission", **asked)
    assert kept.is_dir(), "a reorg may still take it back"
    os.utime(done, (0, 0))
    found.agent.call("prepare_submission", **asked)
    assert not kept.exists()
    assert not kept.with_name("draft").exists()


def test_file__that_grows_or_shrinks_while_it_is_copied__is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    [(fund, "prepare_funding", "page.md"), (seal, "prepare_submission", "work"), (claim, "prepare_claim", None)],
    ids=["fund", "submit", "claim"],
)
def test_act__that_a_reorg_takes_back__is_carried_out_again_until_it_is_final(
    scene: MakeScene, stage: Stage, of: Callable[[Stage], Case], tool: str, path: str | None
) -> None:
    found, node = scene(of, policy_for(stage)), stage.ledger.node
    named: dict[str, object] = {} if path is None else {"path": path}
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


def test_submission__that_another_call_has_begun_meanwhile__goes_on_with_its_files(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scene(seal, policy_for(stage))
    plan = found.agent.call("prepare_submission", bounty_id=found.bounty_id, path="work")
    found.agent.call("carry_out", plan_id=plan["plan_id"])
    recorded, files = stage.ledger.submission(found.bounty_id, found.case.account), _kept(found, plan["plan_id"])
    files.with_suffix(".done").unlink()
    before, looks, look = files.with_suffix(".files").stat().st_ino, list[str](), plans.begun

    def begun(plan_id: str, request: plans.Request) -> plans.Content | None:
        looks.append(plan_id)
        return None if len(looks) == 1 else look(plan_id, request)  # it looked before the other had begun

    monkeypatch.setattr(plans, "begun", begun)
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["bounty_id"] == found.bounty_id
    assert (files.with_suffix(".files").stat().st_ino, len(looks)) == (before, 2)
    assert stage.ledger.submission(found.bounty_id, found.case.account) == recorded
