"""Verdicts: published, read back, recorded once, and replaced only on request."""

from pathlib import Path

from service_common.keccak import keccak256
from service_common.types import bytes32

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import Lost, Reply, Request, RpcProxy
from tests.cli.submitted import Submitted, load
from tests.cli.terminal import Terminal


def verdict_body(home: Terminal, text: str = "It prints 1.\n") -> str:
    (home.home / "body.md").write_text(text)
    return "body.md"


def test_verdict__published_and_read_back__is_recorded_once_and_replaced_only_on_request(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, judged: Submitted
) -> None:
    account = ledger.people.guardians[0].address
    before = ledger.nonce(account)
    words = ("guardian:verdict", judged.bounty, "awarded", judged.solver, judged.commitment)
    ran = guardian.run(*words, verdict_body(guardian))
    assert ran.names == [
        "guardian_verdict.published", "guardian_verdict.read_back", "guardian_verdict.standing",
        "guardian_verdict.recorded",
    ]  # fmt: skip
    assert set(ran.last) == {
        "event", "bounty_id", "guardian", "kind", "solver", "submission_commitment", "report_commitment", "tx_hash",
        "block_number",
    }  # fmt: skip
    again = guardian.run(*words, verdict_body(guardian))
    assert (again.names, again.last) == (["guardian_verdict.standing", "guardian_verdict.recorded"], ran.last)
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


def test_verdict__that_reads_back_differently__is_not_recorded(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, judged: Submitted, tmp_path: Path
) -> None:
    home = person(ledger, api, rpc, tmp_path / "second", "guardian-2")
    api.scripts["verdict_read"] = lambda _request: (200, b"another document", {})
    words = ("guardian:verdict", judged.bounty, "no_valid_submission", verdict_body(home))
    assert home.run(*words, code=1).last["code"] == "verdict_mismatch"
    assert rpc.sent() == 0


def test_verdict__by_a_stranger_or_for_another_submission__is_refused_before_a_signature(
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


def test_verdict__before_the_reveal_point__gives_the_moment(ledger: Ledger, api: ApiTwin, guardian: Terminal) -> None:
    bounty, page = ledger.fund(seconds=20_000)
    api.keep_page(page)
    ledger.submit(bounty, ledger.people.solvers[0].wallet)
    (guardian.home / "body.md").write_text("None.\n")
    ran = guardian.run("guardian:verdict", str(bounty), "no_valid_submission", "body.md", code=1)
    assert ran.last["code"] == "judging_not_started"
    assert " UTC (in " in str(ran.last["message"])


def test_verdict__on_a_final_bounty__says_so_before_it_asks_to_replace(
    ledger: Ledger, guardian: Terminal, ended: int
) -> None:
    (guardian.home / "body.md").write_text("None.\n")
    ran = guardian.run("guardian:verdict", str(ended), "no_valid_submission", "body.md", code=1)
    assert ran.last["code"] == "bounty_final"
    assert "--replace" not in ran.words


def test_verdict__for_work_never_opened_here__warns_before_it_signs(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, judged: Submitted
) -> None:
    load(api, judged)
    for number, opens in (("guardian-3", False), ("guardian-2", True)):
        home = person(ledger, api, rpc, tmp_path / number, number)
        (home.home / "body.md").write_text("It prints 1.\n")
        if opens:
            home.run("guardian:open", *judged.names)
        api.scripts["verdict_write"] = away  # nothing is recorded: other tests judge this one
        told = home.run("guardian:verdict", judged.bounty, "awarded", *judged.names[1:], "body.md", code=1)
        warned = "was not opened on this machine" in told.words
        assert warned is not opens
        if warned:
            assert told.words.index("was not opened") < told.words.index("signing:")


def test_verdict__by_an_account_without_ether__is_refused_before_anything_is_published(
    api: ApiTwin, rpc: RpcProxy, guardian: Terminal, judged: Submitted
) -> None:
    load(api, judged)
    (guardian.home / "body.md").write_text("Every criterion holds.\n")
    rpc.after = lambda method, _params, result: "0x0" if method == "eth_getBalance" else result
    words = ("guardian:verdict", judged.bounty, "no_valid_submission", "body.md", "--replace")
    ran = guardian.run(*words, code=1)
    assert (ran.names, ran.last["code"]) == (["guardian_verdict.refused"], "gas_insufficient")
    assert (rpc.sent(), api.approvals()) == (0, [])
