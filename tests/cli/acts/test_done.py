"""What an earlier run reported is looked for again: a reorg may have taken it out, or an endpoint invented it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal


@contextmanager
def taken_back(ledger: Ledger) -> Iterator[None]:
    """What happens on the chain inside has not happened afterwards."""
    snapshot = ledger.node.rpc.call("evm_snapshot")
    yield
    assert ledger.node.rpc.call("evm_revert", snapshot) is True
    ledger.node.rpc.call("anvil_dropAllTransactions")


def kind_of(ledger: Ledger, bounty: str, guardian: str) -> int:
    return int(ledger.contract.call("getVerdict", int(bounty), guardian)[0])


@pytest.mark.parametrize("options", [(), ("--replace",)])
def test_verdict_that_a_reorg_took_out_is_recorded_again(
    ledger: Ledger, api: ApiTwin, guardian: Terminal, options: tuple[str, ...]
) -> None:
    number, page = ledger.fund(seconds=1_000, judging=20 * 86_400)
    api.keep_page(page)
    ledger.submit(number, ledger.people.solvers[0].wallet)
    ledger.reveal(number)
    (guardian.home / "why.md").write_text("None holds.\n")
    words = ("guardian:verdict", str(number), "no_valid_submission", "--unopened", "why.md")
    account = ledger.people.guardians[0].address
    with taken_back(ledger):
        guardian.run(*words)
        assert kind_of(ledger, str(number), account) != 0
    assert kind_of(ledger, str(number), account) == 0
    ran = guardian.run(*words, *options)
    assert "recording it again" in ran.words
    assert kind_of(ledger, str(number), account) != 0
    sent = ledger.nonce(account)
    assert guardian.run(*words, *options).last["tx_hash"] == ran.last["tx_hash"]
    assert ledger.nonce(account) == sent


def test_submission_that_a_reorg_took_out_is_recorded_again(ledger: Ledger, solver: Terminal, bounty: str) -> None:
    folder = solver.home / "work"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    account = ledger.people.solvers[0].address
    with taken_back(ledger):
        first = solver.run("solver:submit", bounty, "work").last
    ran = solver.run("solver:submit", bounty, "work")
    assert ledger.submission(int(bounty), account) == ran.last["submission_commitment"]
    assert ran.last["submission_commitment"] == first["submission_commitment"]


Invent = Callable[[str, list[object], object], object]


def claims_success(rpc: RpcProxy) -> Invent:
    """Every transaction is said to be taken and mined, with no log, and none is sent."""
    head = "0x" + "22" * 32

    def after(method: str, params: list[object], result: object) -> object:
        if method == "eth_getTransactionReceipt":
            return {"transactionHash": params[0], "blockNumber": "0x1", "blockHash": head, "status": "0x1", "logs": []}
        if method == "eth_getBlockByNumber" and params[0] == "0x1" and isinstance(result, dict):
            return {**result, "hash": head}
        return result

    return after


@pytest.mark.attack
def test_receipt_without_its_event_is_no_success(
    ledger: Ledger, rpc: RpcProxy, solver: Terminal, bounty: str, tmp_path: Path
) -> None:
    folder = solver.home / "work"
    folder.mkdir()
    (folder / "main.py").write_text("print(1)\n")
    rpc.before = lambda method, _params: {"result": "0x" + "33" * 32} if method == "eth_sendRawTransaction" else None
    rpc.after = claims_success(rpc)
    ran = solver.run("solver:submit", bounty, "work", code=1)
    assert ran.last["event"] == "submit.failed"
    assert "that is not believed" in ran.words
    rpc.honest()
    done = solver.run("solver:submit", bounty, "work").last
    assert ledger.submission(int(bounty), ledger.people.solvers[0].address) == done["submission_commitment"]
