"""What an earlier run reported is looked for again: a reorg may have taken it out, or an endpoint invented it."""

from collections.abc import Callable
from pathlib import Path

from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal

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
