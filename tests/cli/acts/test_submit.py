"""``solver:submit``: sealed once, recorded once, and never over a disagreement."""

import json
from pathlib import Path

import pytest

from tests.campaign import some
from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import run_killed
from tests.cli.ledger import Ledger
from tests.cli.lies import lie_at
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal


@pytest.fixture
def work(solver: Terminal) -> str:
    folder = solver.home / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print(1)\n")
    return str(folder)


@pytest.mark.spec(10, 60, 215, 252, 253)
def test_honest_deployment_records_the_sealed_work(
    ledger: Ledger, api: ApiTwin, solver: Terminal, bounty: str, work: str
) -> None:
    ran = solver.run("solver:submit", bounty, work)
    assert ran.names == ["submit.ciphertext_uploaded", "submit.submission_prepared", "submit.submission_recorded"]
    uploaded, prepared, recorded = ran.events
    assert (uploaded["bounty_id"], prepared["mode"]) == (bounty, "drand_tlock")
    assert recorded["submission_commitment"] == prepared["submission_commitment"] == ledger.recorded(bounty)
    assert b"print(1)" not in b"".join(api.objects.values())
    again = solver.run("solver:submit", bounty, work)
    assert again.event("submit.submission_recorded") == recorded


LIES: list[tuple[str, tuple[str | int, ...], object, str]] = [
    ("detail", ("chain_id",), None, "read_model_mismatch"),
    ("detail", ("hub_address",), None, "read_model_mismatch"),
    ("detail", ("bounty_id",), None, "read_model_mismatch"),
    ("detail", ("facts", "poster_address"), None, "read_model_mismatch"),
    ("detail", ("facts", "escrow_amount"), None, "read_model_mismatch"),
    ("detail", ("facts", "spec_commitment"), None, "read_model_mismatch"),
    ("detail", ("facts", "submission_deadline"), None, "read_model_mismatch"),
    ("detail", ("facts", "reveal_at"), None, "read_model_mismatch"),
    ("detail", ("facts", "judging_deadline"), None, "read_model_mismatch"),
    ("detail", ("facts", "guardian_roster_hash"), None, "read_model_mismatch"),
    ("detail", ("facts", "outcome"), "no_valid_submission", "read_model_mismatch"),
    ("detail", ("guardian_roster", "quorum"), None, "read_model_mismatch"),
    ("detail", ("challenge",), "another page", "challenge_terms_mismatch"),
    ("upload_url", ("storage_locator",), None, "locator_mismatch"),
    ("upload_url", ("upload_url",), "file:///etc/passwd", "answer_malformed"),
    ("upload_url", ("upload_url",), {}, "answer_malformed"),
    ("upload_url", ("upload_method",), "DELETE", "answer_malformed"),
    ("upload_url", ("upload_headers",), {"a": "b\r\nc: d"}, "answer_malformed"),
    ("prepare", ("submission_commitment",), None, "preparation_mismatch"),
    ("prepare", ("guardian_roster_hash",), None, "preparation_mismatch"),
    ("prepare", ("transaction", "chain_id"), None, "preparation_mismatch"),
    ("prepare", ("transaction", "to"), None, "preparation_mismatch"),
    ("prepare", ("transaction", "value"), "1", "preparation_mismatch"),
    ("prepare", ("transaction", "data"), None, "preparation_mismatch"),
    ("prepare", ("transaction", "function_name"), None, "preparation_mismatch"),
    ("prepare", ("transaction", "args", 1), None, "preparation_mismatch"),
]


@pytest.mark.spec(25, 142, 261)
def test_api_that_lies_gets_no_transaction(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    before = ledger.recorded(bounty)
    for route, path, value, code in some("lies of a submission", LIES, 6):
        api.lies = {route: lie_at(*path, value=value)}
        ran = solver.run("solver:submit", bounty, work, code=1)
        assert ran.last["code"] == code, path
        assert "record Submission" not in ran.words, path
    assert (rpc.sent(), ledger.recorded(bounty)) == (0, before)


def altered_word(rpc: RpcProxy, function: str, word: int, ledger: Ledger) -> None:
    """One 32-byte word of one view's answer, changed in its last digit."""
    from bounty_protocol.chain.abi import hub_abi

    selector = "0x" + hub_abi().functions[function].selector.hex()

    def after(method: str, params: list[object], result: object) -> object:
        call = params[0] if params else None
        if method != "eth_call" or not isinstance(call, dict) or not str(call.get("data")).startswith(selector):
            return result
        text = str(result)
        place = 2 + 64 * (word + 1) - 1
        return text[:place] + format(int(text[place], 16) ^ 1, "x") + text[place + 1 :]

    rpc.after = after


@pytest.mark.spec(25, 260)
@pytest.mark.parametrize(("function", "word"), [("getBounty", 7), ("getRoster", 1), ("getRoster", 13)])
def test_rpc_that_lies_gets_no_signature(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: str, function: str, word: int
) -> None:
    """The roster's hash in either of the two, or a key."""
    altered_word(rpc, function, word, ledger)
    ran = solver.run("solver:submit", bounty, work, code=1)
    assert "signing:" not in ran.words
    assert (rpc.sent(), api.approvals()) == (0, [])


@pytest.mark.spec(97, 262)
def test_closed_or_absent_bounty_is_refused(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, work: str
) -> None:
    closing, page = ledger.fund(seconds=100)
    api.keep_page(page)
    ledger.advance_to(ledger.time() + 200)
    assert solver.run("solver:submit", str(closing), work, code=1).last["code"] == "bounty_not_accepting"
    assert solver.run("solver:submit", "99999", work, code=1).last["code"] == "bounty_not_found"
    assert (rpc.sent(), api.approvals()) == (0, [])


def test_journal_of_a_killed_run_has_no_key(rpc: RpcProxy, solver: Terminal, bounty: str, work: str) -> None:
    run_killed(solver, rpc, "solver:submit", bounty, work, method="eth_sendRawTransaction", forward=False)
    (journal,) = (path for path in solver.home.rglob("journal.json") if "submit" in str(path))
    kept = json.loads(journal.read_text())
    assert "AGE-SECRET-KEY" not in journal.read_text().upper()
    solver.run("solver:submit", bounty, work)
    assert kept["envelope"]["ciphertext"]["sha256"] in journal.read_text()


@pytest.mark.spec(61)
def test_changed_work_on_its_way_records_the_newer(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    run_killed(solver, rpc, "solver:submit", bounty, work, method="eth_sendRawTransaction", forward=True)
    first = ledger.recorded(bounty)
    (Path(work) / "src" / "main.py").write_text("print(2)\n")
    ran = solver.run("solver:submit", "--replace", bounty, work)
    assert ran.event("submit.submission_recorded")["submission_commitment"] == ledger.recorded(bounty) != first


def external(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal) -> Terminal:
    """The Solver's terminal without any key."""
    found = person(ledger, api, rpc, solver.home, "solver-1")
    return found.without_keys()


@pytest.mark.spec(154, 216, 253, 254, 255, 256, 257, 288, 341, 344)
def test_external_wallet_is_asked_once_for_each(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: str
) -> None:
    address = ledger.people.solvers[0].address
    signature = b"0x" + b"11" * 100 + b"\n"
    ran = external(ledger, api, rpc, solver).run(
        "solver:submit", "--solver-address", address, bounty, work, stdin=signature * 2
    )
    assert ran.names == [
        "submit.approval_required",
        "submit.ciphertext_uploaded",
        "submit.approval_required",
        "submit.submission_prepared",
        "submit.transaction_prepared",
    ]
    typed = ran.events[0]["typed_data"]
    assert isinstance(typed, dict)
    assert typed["primaryType"] == "ApiRequestApproval"
    assert set(ran.last) == {"event", "chain_id", "to", "value", "data", "function_name", "args"}
    assert (rpc.sent(), len(api.approvals())) == (0, 2)


@pytest.mark.spec(256)
@pytest.mark.parametrize("answer", [b"", b"\n", b"0x123\n"])
def test_answer_that_is_no_signature_is_refused(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: str, answer: bytes
) -> None:
    address = ledger.people.solvers[0].address
    ran = external(ledger, api, rpc, solver).run(
        "solver:submit", "--solver-address", address, bounty, work, stdin=answer, code=1
    )
    assert ran.last["code"] == "signature_malformed"
    assert ("input ended" in str(ran.last["message"])) == (answer == b"")
    assert not api.approvals()
