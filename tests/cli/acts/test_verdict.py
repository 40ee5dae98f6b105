"""Verdicts: published, read back, recorded once, replaced only on request; and reasons written in an editor."""

from functools import partial
from pathlib import Path

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, BountyId, Bytes32, bytes32
from service_cli import Client, Failed, Refused
from service_cli.chain import sender

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.servers import Lost, Reply, Request, RpcProxy
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal


def verdict_body(home: Terminal, text: str = "It prints 1.\n") -> str:
    (home.home / "body.md").write_text(text)
    return "body.md"


@pytest.mark.spec(5, 23, 230, 232, 285)
def test_verdict_is_recorded_once(ledger: Ledger, api: ApiTwin, guardian: Terminal, judged: Submitted) -> None:
    account = ledger.people.guardians[0].address
    before = ledger.nonce(account)
    words = ("guardian:verdict", judged.bounty, "awarded", judged.solver, judged.commitment, "--unopened")
    ran = guardian.run(*words, verdict_body(guardian))
    assert ran.names == ["guardian_verdict.published", "guardian_verdict.recorded"]
    assert f"for Submission {judged.commitment} of {judged.solver}" in ran.words
    assert set(ran.last) == {
        "event", "bounty_id", "guardian", "kind", "solver", "submission_commitment", "report_commitment", "tx_hash",
        "block_number",
    }  # fmt: skip
    again = guardian.run(*words, verdict_body(guardian))
    assert (again.names, again.last) == (["guardian_verdict.recorded"], ran.last)
    second = guardian.run(*words, verdict_body(guardian, "It still prints 1.\n"), code=1)
    assert second.last["code"] == "verdict_already_recorded"
    assert "awarded" in str(second.last["message"])
    assert ledger.nonce(account) - before == 1
    replaced = guardian.run(*words, "--replace", verdict_body(guardian, "It still prints 1.\n"))
    assert replaced.last["report_commitment"] != ran.last["report_commitment"]
    assert ledger.nonce(account) - before == 2
    back = guardian.run(*words, verdict_body(guardian), code=1)
    assert back.last["code"] == "verdict_replaced"
    assert guardian.run(*words, "--replace", verdict_body(guardian)).last["tx_hash"] != ran.last["tx_hash"]
    assert ledger.nonce(account) - before == 3
    assert guardian.run(*words, verdict_body(guardian)).last["report_commitment"] == ran.last["report_commitment"]
    assert ledger.nonce(account) - before == 3


@pytest.mark.spec(171, 231, 232)
def test_verdict_that_reads_back_other_is_not_recorded(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, judged: Submitted, tmp_path: Path
) -> None:
    home = person(ledger, api, rpc, tmp_path / "second", "guardian-2")
    api.scripts["verdict_read"] = lambda _request: (200, b"another document", {})
    words = ("guardian:verdict", judged.bounty, "no_valid_submission", "--unopened", verdict_body(home))
    assert home.run(*words, code=1).last["code"] == "verdict_mismatch"
    assert rpc.sent() == 0


@pytest.mark.spec(98)
def test_stranger_or_other_submission_is_refused(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted
) -> None:
    other = bytes32(keccak256(b"other"))
    body = verdict_body(guardian)
    wrong = guardian.run("guardian:verdict", judged.bounty, "awarded", judged.solver, other, body, code=1)
    assert wrong.last["code"] == "submission_not_active"
    key = ledger.people.solvers[1].wallet.private_key
    stranger = Terminal(guardian.home, {**guardian.environment, "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY": key})
    assert (
        stranger.run("guardian:verdict", judged.bounty, "no_valid_submission", body, code=1).last["code"]
        == "not_guardian"
    )
    assert (rpc.sent(), api.approvals()) == (0, [])


def away(_: Request) -> Reply:
    raise Lost


@pytest.mark.parametrize(
    ("body", "code"), [(b" \n", "reasons_unfinished"), (b"\xff\n", "verdict_body_malformed")], ids=["empty", "no text"]
)
def test_reasons_that_are_none_are_not_recorded(
    api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted, body: bytes, code: str
) -> None:
    (guardian.home / "body.md").write_bytes(body)
    refused = guardian.run("guardian:verdict", judged.bounty, "no_valid_submission", "--unopened", "body.md", code=1)
    assert (refused.last["code"], rpc.sent(), api.approvals()) == (code, 0, [])


def test_award_of_unopened_work_needs_consent(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, judged: Submitted
) -> None:
    load(api, judged)
    words = ("guardian:verdict", judged.bounty, "awarded", *judged.names[1:], "body.md")
    for number, opens in (("guardian-3", False), ("guardian-2", True)):
        home = person(ledger, api, rpc, tmp_path / number, number)
        (home.home / "body.md").write_text("It prints 1.\n")
        client = Client(dict(home.environment), state_directory=home.home / "state/service-cli")
        named = Address(judged.solver), Bytes32(judged.commitment)
        if opens:
            home.run("guardian:open", *judged.names)
            assert not client.preview_verdict(BountyId(int(judged.bounty)), "It prints 1.\n", named).is_unopened
        else:
            assert client.preview_verdict(BountyId(int(judged.bounty)), "It prints 1.\n", named).is_unopened
            refused = home.run(*words, code=1)
            assert refused.last["code"] == "work_not_opened"
            assert "guardian:open" in str(refused.last["next_action"])
            assert (rpc.sent(), api.approvals()) == (0, [])
        api.scripts["verdict_write"] = away  # nothing is recorded: other tests judge this one
        ran = home.run(*words, *(() if opens else ("--unopened",)), code=1)
        assert ran.last["code"] == "api_unreachable"
        assert ("was not opened on this machine" in ran.words) is not opens
        del api.scripts["verdict_write"]


def test_list_that_the_api_has_otherwise_needs_consent(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, judged: Submitted
) -> None:
    """An endpoint alone could hide the Submission that should have won."""
    load(api, judged)
    home = person(ledger, api, rpc, tmp_path / "guardian-3", "guardian-3")
    home.run("guardian:open", judged.bounty)
    words = ("guardian:verdict", judged.bounty, "no_valid_submission", verdict_body(home))
    api.scripts["verdict_write"] = away  # nothing is recorded: other tests judge this one
    api.lies["detail"] = lie_at("active_submissions", 0, "solver_address", value="0x" + "11" * 20)
    refused = home.run(*words, code=1)
    assert (refused.last["code"], "signing:" in refused.words) == ("work_not_opened", False)
    del api.lies["detail"]
    assert home.run(*words, code=1).last["code"] == "api_unreachable"


def test_verdict_behind_a_later_nonce_waits(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, guardian: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mined after this one, the other would take its place."""
    bounty, page = ledger.fund(seconds=400, judging=5_000)
    api.keep_page(page)
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    ledger.reveal(bounty)
    words = ("guardian:verdict", str(bounty), "no_valid_submission", "--unopened")
    rpc.count_ahead()
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        ahead = guardian.run(*words, "--replace", verdict_body(guardian), code=1).last
        assert ahead["code"] == "transaction_pending"
    rpc.honest()
    sent = rpc.sent()
    other = verdict_body(guardian, "On second thoughts.\n")
    refused = guardian.run(*words, other, code=1).last
    assert (refused["code"], rpc.sent()) == ("verdict_already_recorded", sent)
    refused = guardian.run(*words, "--replace", other, code=1).last
    assert (refused["code"], rpc.sent()) == ("nonce_ahead", sent)
    assert guardian.run(*words, verdict_body(guardian)).last["event"] == "guardian_verdict.recorded"


OTHER = "On second thoughts.\n"


def test_verdict_beside_a_waiting_one_needs_replace(
    rpc: RpcProxy, judging: tuple[Terminal, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both were signed, and the Hub took them in turn."""
    home, bounty = judging
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened")
    rpc.lose_first_transaction()
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        assert home.run(*words, verdict_body(home), code=1).last["code"] == "transaction_pending"
    refused = home.run(*words, verdict_body(home, OTHER), code=1).last
    assert (refused["code"], rpc.sent()) == ("verdict_already_recorded", 1)
    assert "--replace" in str(refused["next_action"])
    rpc.before = lambda method, _: {"result": "0x" + "00" * 32} if method == "eth_sendRawTransaction" else None
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        ran = home.run(*words, "--replace", verdict_body(home, OTHER), code=1)
    assert (ran.last["code"], rpc.sent()) == ("transaction_pending", 2)
    first = home.run(*words, verdict_body(home), code=1).last  # either may be the last one
    assert (first["code"], rpc.sent()) == ("verdict_already_recorded", 2)
    rpc.honest()
    other = home.run(*words, "--replace", verdict_body(home, OTHER)).last
    assert other["event"] == "guardian_verdict.recorded"
    sent = rpc.sent()
    again = home.run(*words, verdict_body(home), code=1).last
    assert (again["code"], rpc.sent()) == ("verdict_already_recorded", sent)


def test_preview_beside_a_waiting_verdict_refuses(
    rpc: RpcProxy, judging: tuple[Terminal, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a preview allows the act allows: one gave a plan with its gas, which the command refused."""
    home, bounty = judging
    client = Client(dict(home.environment), state_directory=home.home / "state/service-cli")
    rpc.lose_first_transaction()
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        with pytest.raises(Failed) as failed:
            client.record_verdict(BountyId(int(bounty)), "It prints 1.\n", None, unopened=True)
    assert failed.value.code == "transaction_pending"
    for judged in (client.preview_verdict, partial(client.record_verdict, unopened=True)):
        with pytest.raises(Refused) as refused:
            judged(BountyId(int(bounty)), OTHER, None)
        assert (refused.value.code, rpc.sent()) == ("verdict_already_recorded", 1)


def test_verdict_beside_another_machines_waits(
    ledger: Ledger,
    api: ApiTwin,
    rpc: RpcProxy,
    judging: tuple[Terminal, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both were told that theirs was recorded, and the later one counted."""
    home, bounty = judging
    elsewhere = person(ledger, api, rpc, tmp_path / "elsewhere", "guardian-3")
    solver = ledger.people.solvers[0].address
    award = (
        "guardian:verdict",
        bounty,
        "awarded",
        "--unopened",
        solver,
        ledger.submission(int(bounty), solver),
    )
    none = ("guardian:verdict", bounty, "no_valid_submission", "--unopened")
    ledger.node.rpc.call("evm_setAutomine", False)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
            assert home.run(*none, verdict_body(home), code=1).last["code"] == "transaction_pending"
            refused = elsewhere.run(*award, verdict_body(elsewhere, OTHER), code=1).last
            assert (refused["code"], rpc.sent()) == ("nonce_contended", 1)
            assert "--replace" in str(refused["next_action"])
            again = elsewhere.run(*award, "--replace", verdict_body(elsewhere, OTHER), code=1).last
            assert (again["code"], rpc.sent()) == ("transaction_pending", 2)
    finally:
        ledger.node.rpc.call("evm_setAutomine", True)
        ledger.node.mine(3)
    first = home.run(*none, verdict_body(home))
    assert first.last["event"] == "guardian_verdict.recorded"
    assert "the Hub now holds another Verdict of yours, and" in first.words
    assert "the Hub now holds another" not in elsewhere.run(*award, verdict_body(elsewhere, OTHER)).words


@pytest.fixture
def judging(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> tuple[Terminal, str]:
    """A Guardian at a machine of its own, and a bounty that waits for Verdicts; its page is the twin's."""
    bounty, page = ledger.fund(seconds=100, judging=20 * 86_400)
    api.keep_page(page)
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    ledger.reveal(bounty)
    return person(ledger, api, rpc, tmp_path / "third", "guardian-3"), str(bounty)


def test_hidden_verdict_is_replaced_on_request(ledger: Ledger, rpc: RpcProxy, judging: tuple[Terminal, str]) -> None:
    home, bounty = judging
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened")
    home.run(*words, verdict_body(home))
    asked = hub_abi().functions["getVerdict"].selector.hex()
    hidden: dict[str, object] = {"result": "0x" + "0" * 192}
    rpc.before = lambda method, params: hidden if method == "eth_call" and asked in str(params[0]) else None
    second = verdict_body(home, "It still prints 1.\n")
    ran = home.run(*words, second, code=1, SERVICE_RPC_URLS=ledger.node.url)
    assert (ran.last["code"], rpc.sent()) == ("verdict_already_recorded", 1)
