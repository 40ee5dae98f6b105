"""``solver:submit`` where something is recorded already: told, continued, or replaced by the Solver's own word."""

import hashlib
import json

import pytest
from bounty_protocol.chain.rpc import mapping, quantity
from bounty_protocol.domain.envelope.document import parse_envelope
from service_cli.chain import sender
from service_cli.work.sealing import CIPHERTEXT, ENVELOPE

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import run_killed
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
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
