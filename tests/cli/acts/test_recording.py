"""``solver:submit`` where something is recorded already: told, continued, or replaced by the Solver's own word."""

import hashlib
import json
from typing import Any

import pytest
from bounty_protocol.chain.rpc import mapping, quantity
from bounty_protocol.domain.envelope.document import parse_envelope
from service_cli.chain import sender
from service_cli.work.sealing import CIPHERTEXT, ENVELOPE

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import run_killed
from tests.cli.ledger import Ledger
from tests.cli.liar import hide
from tests.cli.screen import at_terminal
from tests.cli.servers import Params, Request, RpcProxy
from tests.cli.terminal import Ran, Terminal

SIGNATURES = b"".join(b"0x" + bytes([digit]) * 200 + b"\n" for digit in b"123456")


@pytest.fixture
def work(solver: Terminal) -> str:
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    return "work"


def by_wallet(ledger: Ledger, solver: Terminal, *words: str, stdin: bytes = SIGNATURES, code: int = 0) -> Ran:
    address = ledger.people.solvers[0].address
    return solver.without_keys().run("solver:submit", "--solver-address", address, *words, stdin=stdin, code=code)


def send(ledger: Ledger, prepared: Ran) -> None:
    """As the wallet does it, with what was printed."""
    arguments = prepared.last["args"]
    assert isinstance(arguments, list)
    wallet = ledger.people.solvers[0].wallet
    wallet.forget_nonce()
    values = [bytes.fromhex(str(value)[2:]) for value in arguments[1:]]
    ledger.contract.transact(wallet, "submit", int(str(arguments[0])), *values)


def test_submission_a_wallet_sent_is_told(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    send(ledger, by_wallet(ledger, solver, bounty, work))
    approvals, nonce = len(api.approvals()), ledger.nonce(ledger.people.solvers[0].address)
    again = by_wallet(ledger, solver, bounty, work, stdin=b"")
    assert again.names == ["submit.submission_recorded"]
    receipt = mapping(ledger.node.rpc.call("eth_getTransactionReceipt", str(again.last["tx_hash"])))
    assert quantity(receipt["blockNumber"]) == again.last["block_number"]
    assert again.last["submission_commitment"] == ledger.recorded(bounty)
    assert len(api.approvals()) == approvals
    local = solver.run("solver:submit", bounty, work)
    assert local.event("submit.submission_recorded") == again.last
    assert ledger.nonce(ledger.people.solvers[0].address) == nonce


def test_changed_work_is_replaced_on_request(ledger: Ledger, solver: Terminal, bounty: str, work: str) -> None:
    solver.run("solver:submit", bounty, work)
    former = ledger.recorded(bounty)
    (solver.home / "work" / "main.py").write_text("print(2)\n")
    refused = solver.run("solver:submit", bounty, work, code=1)
    assert (refused.last["code"], ledger.recorded(bounty)) == ("submission_exists", former)
    assert "--replace" in str(refused.last["next_action"])
    replaced = solver.run("solver:submit", "--replace", "--quiet", bounty, work)
    assert f"this replaces your Submission {former}" in replaced.words
    assert "the old one no longer counts" in replaced.words
    assert replaced.last["submission_commitment"] == ledger.recorded(bounty) != former
    assert "this replaces" not in solver.run("solver:submit", bounty, work).words


def change(solver: Terminal, text: str = "print(2)\n") -> None:
    (solver.home / "work" / "main.py").write_text(text)


def test_replaced_work_is_kept_until_another_is_recorded(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    """The storage could still lose what the Hub has."""
    solver.run("solver:submit", bounty, work)
    former = ledger.recorded(bounty)
    change(solver)
    words = ("solver:submit", "--replace", bounty, work)
    run_killed(solver, rpc, *words, method="eth_sendRawTransaction", forward=False)
    (kept,) = solver.home.rglob(former)
    envelope = parse_envelope((kept / ENVELOPE).read_bytes())
    assert "0x" + hashlib.sha256((kept / CIPHERTEXT).read_bytes()).hexdigest() == envelope.ciphertext.sha256
    solver.run(*words)
    assert (ledger.recorded(bounty) != former, kept.exists()) == (True, False)


def test_kept_envelope_that_is_none_any_more_is_not_recorded(
    rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    run_killed(solver, rpc, "solver:submit", bounty, work, method="eth_sendRawTransaction", forward=False)
    (journal,) = solver.home.rglob(f"submit-{bounty}-*/journal.json")
    noted = json.loads(journal.read_text())
    noted["envelope"]["mode"] = "none"
    journal.write_text(json.dumps(noted))
    sent = rpc.sent()
    ran = solver.run("solver:submit", "--without-api", bounty, work, code=1)
    assert (ran.last["code"], rpc.sent() - sent) == ("invalid_solver_submission", 0)


def test_replaced_work_needs_the_solvers_word(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    solver.run("solver:submit", bounty, work)
    (solver.home / "other").mkdir()
    (solver.home / "other" / "main.py").write_text("print(2)\n")
    elsewhere = Terminal(solver.home, {**solver.environment, "XDG_STATE_HOME": str(solver.home / "second")})
    elsewhere.run("solver:submit", "--replace", bounty, "other")
    former, approvals = ledger.recorded(bounty), len(api.approvals())
    for ran in (
        solver.run("solver:submit", bounty, work, code=1),
        by_wallet(ledger, solver, bounty, work, code=1),
        solver.run("solver:submit", "--without-api", bounty, work, code=1),
    ):
        assert ran.names == ["submit.refused"]
        assert ran.last["code"] == "submission_exists"
        assert former in str(ran.last["message"])
        assert "later block" in str(ran.last["message"])
        assert "--replace" in str(ran.last["next_action"])
    assert (ledger.recorded(bounty), len(api.approvals())) == (former, approvals)


def test_work_behind_a_later_nonce_is_signed_after_it(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mined after the changed work, the former would take its place."""
    rpc.count_ahead()
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        assert solver.run("solver:submit", bounty, work, code=1).last["code"] == "transaction_pending"
    rpc.honest()
    change(solver)
    sent = rpc.sent()
    refused = solver.run("solver:submit", "--replace", bounty, work, code=1).last
    assert (refused["code"], rpc.sent()) == ("nonce_ahead", sent)
    assert "Send one transaction from the account to itself" in str(refused["next_action"])
    wallet = ledger.people.solvers[0].wallet
    wallet.forget_nonce()
    wallet.send(ledger.node.w3, b"", to=wallet.address)
    assert solver.run("solver:submit", bounty, work).last["submission_commitment"] == ledger.recorded(bounty)


# -------------------------------------------------------------------- an endpoint that hides what is recorded


def places(ledger: Ledger, bounty: str) -> list[str]:
    """Every transaction that recorded a Submission in the bounty."""
    topic = f"0x{int(bounty):064x}"
    logs: Any = ledger.logs("SubmissionRecorded")
    return [log["transactionHash"] for log in logs if log["topics"][1] == topic]


@pytest.mark.parametrize("block", [True, False], ids=["with another block", "with its block"])
def test_endpoint_alone_moves_no_submission(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str, block: bool
) -> None:
    first = solver.run("solver:submit", bounty, work).last
    ledger.node.mine(3)
    hide(rpc, first, block=block)
    for _ in range(2):
        refused = solver.run("solver:submit", bounty, work, code=1).last
        assert (refused["code"], places(ledger, bounty)) == ("submission_exists", [first["tx_hash"]])
        assert "--replace" in str(refused["next_action"])
    rpc.honest()
    assert solver.run("solver:submit", bounty, work).last == first


def test_wallet_gets_no_second_call_for_what_is_hidden(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    send(ledger, by_wallet(ledger, solver, bounty, work))
    first = by_wallet(ledger, solver, bounty, work).last
    ledger.node.mine(3)
    hide(rpc, first)
    refused = by_wallet(ledger, solver, bounty, work, code=1)
    assert (refused.last["event"], refused.last["code"]) == ("submit.refused", "submission_exists")
    assert "submit.transaction_prepared" not in refused.names
    rpc.honest()
    assert by_wallet(ledger, solver, bounty, work).last == first


def test_endpoint_that_is_late_is_waited_for(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    """It shows what the wallet sent once the API has been asked twice."""
    send(ledger, by_wallet(ledger, solver, bounty, work))
    (sent,) = places(ledger, bounty)
    asked: list[Request] = []

    def listed(request: Request) -> None:
        asked.append(request)
        if len(asked) == 2:
            rpc.honest()

    api.scripts["subgraph"] = listed
    hide(rpc, {"tx_hash": sent})
    told = by_wallet(ledger, solver, bounty, work).last
    assert (told["event"], told["tx_hash"]) == ("submit.submission_recorded", sent)
    assert places(ledger, bounty) == [sent]


def test_unseen_recording_in_the_apis_list_is_not_repeated(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    """This machine never saw the event: the API alone did."""
    run_killed(solver, rpc, "solver:submit", bounty, work, method="eth_sendRawTransaction", forward=True)
    (sent,) = places(ledger, bounty)
    hide(rpc, {"tx_hash": sent})
    refused = solver.run("solver:submit", bounty, work, code=1).last
    assert (refused["code"], places(ledger, bounty)) == ("submission_exists", [sent])


def test_person_may_record_it_again(ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str) -> None:
    first = solver.run("solver:submit", bounty, work).last
    ledger.node.mine(3)
    hide(rpc, first)
    again = solver.run("solver:submit", "--replace", bounty, work).last
    assert places(ledger, bounty) == [first["tx_hash"], again["tx_hash"]]


@pytest.mark.parametrize(("block", "count"), [(True, 2), (False, 1)], ids=["with another block", "with its block"])
def test_without_the_api_the_journal_decides(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str, block: bool, count: int
) -> None:
    words = ("solver:submit", "--without-api", bounty, work)
    first = solver.run(*words).last
    ledger.node.mine(3)
    hide(rpc, first, block=block)
    assert solver.run(*words, code=2 - count).last.get("code") == (None if block else "submission_exists")
    assert len(places(ledger, bounty)) == count


def test_every_endpoint_has_to_show_another_block(
    ledger: Ledger, rpc: RpcProxy, second: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    words = ("solver:submit", "--without-api", bounty, work)
    first = solver.run(*words).last
    ledger.node.mine(3)
    for proxy, block in ((rpc, True), (second, False)):
        hide(proxy, first, block=block)
    ran = solver.run(*words, code=1, SERVICE_RPC_URLS=second.url)
    assert (ran.last["code"], len(places(ledger, bounty))) == ("submission_exists", 1)


def test_submission_a_reorg_dropped_is_recorded_again(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    """Another transaction of the account has the nonce by then."""
    before = ledger.node.rpc.call("evm_snapshot")
    first = solver.run("solver:submit", bounty, work).last
    ledger.node.rpc.call("evm_revert", before)
    ledger.node.mine(3)
    wallet = ledger.people.solvers[0].wallet
    wallet.forget_nonce()
    wallet.send(ledger.node.w3, b"", to=wallet.address)
    again = solver.run("solver:submit", bounty, work).last
    assert (places(ledger, bounty), again["tx_hash"] == first["tx_hash"]) == ([again["tx_hash"]], False)


def test_changed_work_replaces_nothing_that_is_hidden(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    first = solver.run("solver:submit", bounty, work).last
    hide(rpc, first, block=False, reverted=True)
    assert solver.run("solver:submit", bounty, work, code=1).last["code"] == "transaction_reverted"
    change(solver)
    refused = solver.run("solver:submit", bounty, work, code=1).last
    assert (refused["code"], places(ledger, bounty)) == ("submission_exists", [first["tx_hash"]])


def test_submission_with_a_later_nonce_is_not_signed_twice(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint could send the first after the second."""
    rpc.count_ahead()
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        assert solver.run("solver:submit", bounty, work, code=1).last["code"] == "transaction_pending"
    rpc.honest()
    sent = rpc.sent()
    refused = solver.run("solver:submit", bounty, work, code=1).last
    assert (refused["code"], rpc.sent(), places(ledger, bounty)) == ("nonce_ahead", sent, [])
    wallet = ledger.people.solvers[0].wallet
    wallet.forget_nonce()
    wallet.send(ledger.node.w3, b"", to=wallet.address)
    told = solver.run("solver:submit", bounty, work).last
    assert places(ledger, bounty) == [told["tx_hash"]]


@pytest.mark.parametrize(("typed", "count"), [("no", 1), ("yes", 2)])
def test_last_ten_minutes_ask_at_once(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, work: str, typed: str, count: int
) -> None:
    """As a process at a terminal, which would wait for minutes before."""
    number, page = ledger.fund(seconds=590)
    api.keep_page(page)
    bounty = str(number)
    words = ("solver:submit", bounty, work)
    first = solver.run(*words).last
    ledger.node.mine(3)
    hide(rpc, first, block=False, reverted=True)
    assert solver.run(*words, code=1).last["code"] == "transaction_reverted"
    seen = at_terminal(solver, *words, typed=f"{typed}\n", prompt="Type yes")
    assert (seen.screen.count("Type yes"), seen.code) == (1, 2 - count), seen.screen
    assert len(places(ledger, bounty)) == count


@pytest.mark.parametrize("whose", ["a key's", "a wallet's"])
def test_logs_half_a_minute_late_make_it_late(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str, whose: str
) -> None:
    """One of a balancer's nodes has no logs of the last thirty seconds."""
    by_key = whose == "a key's"

    def after(method: str, _params: Params, found: Any) -> object:
        def is_old(log: dict[str, str]) -> bool:
            block: Any = ledger.node.rpc.call("eth_getBlockByNumber", log["blockNumber"], False)
            return int(block["timestamp"], 16) <= ledger.time() - 30

        return list(filter(is_old, found)) if method == "eth_getLogs" else found

    rpc.after = after
    if by_key:
        solver.run("solver:submit", bounty, work)
    else:
        send(ledger, by_wallet(ledger, solver, bounty, work))
    (sent,) = places(ledger, bounty)
    for seconds in (0, 10):
        ledger.advance_to(ledger.time() + seconds)
        if by_key:
            assert solver.run("solver:submit", bounty, work).last["tx_hash"] == sent
        else:
            late = by_wallet(ledger, solver, bounty, work, code=1)
            assert (late.names, late.last["code"]) == (["submit.failed"], "transaction_unknown")
    ledger.advance_to(ledger.time() + 31)
    told = (solver.run("solver:submit", bounty, work) if by_key else by_wallet(ledger, solver, bounty, work)).last
    assert (told["tx_hash"], places(ledger, bounty)) == (sent, [sent])
