"""What a policy permits, whose file it may be, and that its caps hold for two servers and for a killed one."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ChainId, parse_address
from service_cli.client import Client
from service_cli.errors import CommandRefused
from service_mcp.policy import DAY_SECONDS, Policy, Spending, charge, require, require_foreign

from tests.agents.conftest import MakeScene, Refused, policy_for
from tests.cli.scenes import Stage, fund, open_work, seal

NOBODY = 65_534
TEXT = """
chain_id = 8453
hub_address = "0x1111111111111111111111111111111111111111"
token_address = "0x2222222222222222222222222222222222222222"
roles = ["solver"]
most_spent_per_action = 0
most_spent_per_day = 0
least_award = 10_000_000
most_gas_per_action = 1_000_000_000_000_000
most_actions_per_day = 5
"""


def as_somebody(act: Callable[[], object]) -> str:
    """The code that ``act`` is refused with by a user who is not root; nothing where it is not."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            act()
        except ServiceError as error:
            os.write(writing, error.code.encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as read:
        found = read.read()
    os.waitpid(child, 0)
    return found


def test_policy_its_user_can_write_is_refused(tmp_path: Path) -> None:
    mine = tmp_path / "policy.toml"
    mine.write_text(TEXT)
    mine.chmod(0o444)
    with pytest.raises(ServiceError) as refused:  # as root any is one's own, else this one is
        Policy.read(mine)
    assert refused.value.code == "policy_unsafe"


def test_policy_in_a_shared_directory_is_refused() -> None:
    file = Path("/tmp") / f"policy-{os.getpid()}.toml"  # what is tested
    file.write_text(TEXT)
    try:
        assert as_somebody(lambda: require_foreign(file)) == "policy_unsafe"
    finally:
        file.unlink()


def test_policy_by_an_own_link_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/etc/passwd")
    if os.geteuid() == 0:
        os.lchown(link, NOBODY, NOBODY)
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(0o755)
    assert as_somebody(lambda: require_foreign(link)) in {"policy_unsafe", "policy_malformed"}


@pytest.mark.parametrize(
    "wrong",
    ["", "x", "chain_id = 1", TEXT + "more = 1", TEXT.replace("= 5", "= -5"), TEXT.replace("= 5", "= true"),
     TEXT.replace('"solver"', '"owner"'), TEXT.replace("0x1111", "0x"), TEXT + "allow_secret_files = 1"],
)  # fmt: skip
def test_policy__that_says_something_else__is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setattr("service_mcp.policy.require_foreign", lambda _path: None)
    file = tmp_path / "policy.toml"
    file.write_text(TEXT)
    assert Policy.read(file).least_award == 10_000_000
    file.write_text(wrong)
    with pytest.raises(ServiceError) as refused:
        Policy.read(file)
    assert refused.value.code == "policy_malformed"


HERE = parse_address("0x" + "11" * 20)
PLAIN = Policy(ChainId(1), HERE, HERE, ("solver",), 100, 100, 0, 100, 100)


@pytest.mark.parametrize(
    ("policy", "spending"),
    [
        (replace(PLAIN, roles=("poster",)), Spending("a", "solver", 0, 0)),
        (replace(PLAIN, most_spent_per_action=9), Spending("a", "solver", 10, 0)),
        (replace(PLAIN, most_gas_per_action=9), Spending("a", "solver", 0, 10)),
        (replace(PLAIN, least_award=11), Spending("a", "solver", 0, 0, award=10)),
    ],
)
def test_action_beyond_one_cap_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: Policy, spending: Spending
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    require(PLAIN, spending)
    with pytest.raises(ServiceError) as refused:
        require(policy, spending)
    assert refused.value.code == "policy_exceeded"


TOKENS = replace(PLAIN, most_spent_per_day=30, most_actions_per_day=5)
GAS = replace(PLAIN, most_gas_per_action=30, most_actions_per_day=2)
Charges = list[tuple[Spending, int, bool]]
"""What is charged, when, and whether it is counted."""
HISTORIES: dict[str, tuple[Policy, Charges]] = {
    "a daily cap of tokens": (TOKENS, [
        (Spending("a", "solver", 20, 0), 0, True),
        (Spending("a", "solver", 20, 0), 0, True),  # the same plan, carried out again
        (Spending("b", "solver", 11, 0), 0, False),
        (Spending("b", "solver", 10, 0), 0, True),
        (Spending("c", "solver", 1, 0), DAY_SECONDS - 1, False),
        (Spending("c", "solver", 1, 0), DAY_SECONDS, True),
    ]),
    "a plan signed again, whose first transaction may be mined, too": (GAS, [
        (Spending("a", "solver", 0, 20, nonce=7), 0, True),
        (Spending("a", "solver", 0, 25, nonce=7), 0, True),  # in the place of the first
        (Spending("a", "solver", 0, 6, nonce=8), 0, False),
        (Spending("a", "solver", 0, 5, nonce=8), 0, True),
        (Spending("b", "solver", 0, 30, nonce=9), 0, True),
    ]),
    "a plan that was not mined, signed the next day": (GAS, [
        (Spending("a", "solver", 0, 20, nonce=7), 0, True),
        (Spending("a", "solver", 0, 20, nonce=8), DAY_SECONDS - 1, False),
        (Spending("a", "solver", 0, 20, nonce=8), DAY_SECONDS, True),
        (Spending("a", "solver", 0, 20, nonce=9), DAY_SECONDS + 1, False),
        (Spending("b", "solver", 0, 20, nonce=9), DAY_SECONDS + 1, True),
        (Spending("c", "solver", 0, 20, nonce=9), DAY_SECONDS + 1, False),
    ]),
    "plans of many days, all signed on one": (TOKENS, [
        *((Spending(f"plan {day}", "solver", 15, 0), day * DAY_SECONDS, True) for day in range(20)),
        *((Spending(f"plan {day}", "solver", 15, 0), 20 * DAY_SECONDS, day < 2) for day in range(20)),
    ]),
}  # fmt: skip


def charged(policy: Policy, spending: Spending, now: int = 0) -> str:
    try:
        charge(policy, spending, now)
    except ServiceError as error:
        return error.code
    return "charged"


@pytest.mark.parametrize("name", HISTORIES)
def test_caps_of_a_day_hold_for_all_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    policy, charges = HISTORIES[name]
    ended = [charged(policy, spending, now) for spending, now, _ in charges]
    assert ended == ["charged" if is_counted else "policy_exceeded" for *_, is_counted in charges]
    (tmp_path / "service-cli/mcp/spending.json").write_text("[[")
    assert charged(policy, Spending("more", "solver", 1, 0)) == "spending_unreadable"


def test_plan__that_signs_nothing__spends_nothing(
    scene: MakeScene, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a page that the readiness review refuses: each corrected one is another plan."""
    found = scene(fund, policy_for(stage, most_actions_per_day=1))
    page = found.case.home.home / "page.md"
    with monkeypatch.context() as patched:
        patched.setattr(Client, "fund", refuse)
        for text in ("One.\n", "Two.\n"):
            page.write_text(page.read_text() + text)
            plan = found.agent.call("prepare_funding", path="page.md")
            with pytest.raises(Refused) as refused:
                found.agent.call("carry_out", plan_id=plan["plan_id"])
            assert refused.value.code == "bounty_challenge_not_ready"
    page.write_text(page.read_text() + "Three.\n")
    plan = found.agent.call("prepare_funding", path="page.md")
    assert found.agent.call("carry_out", plan_id=plan["plan_id"])["state"] in {"recorded", "finalized"}


def refuse(_client: Client, _page: bytes) -> NoReturn:
    raise CommandRefused("bounty_challenge_not_ready", "It is not.", next_action="Correct it.")


def test_server_signs_no_more_than_its_policy(scene: MakeScene, stage: Stage) -> None:
    for more in ({"most_spent_per_action": 1}, {"roles": ("solver",)}, {"most_actions_per_day": 0}):
        found = scene(fund, policy_for(stage, **more))
        plan = found.agent.call("prepare_funding", path="page.md")
        before = stage.ledger.nonce(found.case.account)
        try:
            state = found.agent.call("carry_out", plan_id=plan["plan_id"])["state"]
        except Refused as refused:
            state = str(refused.code)
        assert state == ("needs_wallet" if "roles" in more else "policy_exceeded")
        assert stage.ledger.nonce(found.case.account) == before


@pytest.mark.parametrize(
    "other", [{"chain_id": 1}, *({name: "0x" + "11" * 20} for name in ("hub_address", "token_address"))]
)
def test_policy_of_another_network_does_not_start(scene: MakeScene, stage: Stage, other: dict[str, object]) -> None:
    """It would open work and deliver keys by it, which spend nothing."""
    found = scene(open_work, policy_for(stage, **other), roles=frozenset({"guardian"}))
    with pytest.raises(ServiceError) as refused:
        found.agent.call("open_work", bounty_id=found.bounty_id)
    assert refused.value.code == "policy_of_another"
    assert not (found.case.home.home / "opened").exists()


def test_award_the_api_alone_states_counts_nothing(scene: MakeScene, stage: Stage) -> None:
    """It may tell the truth once, when its answer is compared with the chain, and lie from then on."""
    found, truth = scene(seal, policy_for(stage)), list[object]()
    asked = {"bounty_id": found.bounty_id, "path": "work"}
    award = found.agent.call("prepare_submission", **asked)["receives"]

    def lie(detail: dict[str, Any]) -> object:
        truth.append(detail)
        facts = {**detail["facts"], "escrow_amount": str(10**12)}
        return detail if len(truth) == 1 else {**detail, "facts": facts}

    stage.api.lies["detail"] = lie
    assert found.agent.call("prepare_submission", **asked)["receives"] == award
