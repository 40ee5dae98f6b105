"""The EVM of anvil, over JSON-RPC: one node for all tests of a process, one chain on it at a time."""

import http.client
import json
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from itertools import count
from typing import Any, Final

from local_stack import anvil

from tests.contracts.evm import CALLS, Accepted, Log, Reverted

CHAIN_ID: Final = 1  # as pyrevm's
_GAS: Final = {"gas": hex(10_000_000), "gasPrice": hex(10**10)}
_OPEN: Final = ExitStack()
_CHAINS: Final = count(1)
_newest = 0


class Anvil:
    """The node from its first block on; the chain before this one is gone."""

    def __init__(self) -> None:
        global _newest  # noqa: PLW0603  # the one chain that the node has now
        self._number = _newest = next(_CHAINS)
        self._funded: set[str] = set()
        self._result("anvil_reset")
        self._result("anvil_autoImpersonateAccount", True)
        self._result("anvil_setBlockTimestampInterval", 0)

    def set_time(self, time: int) -> None:
        """Mine a block at ``time``; those of the transactions that follow have the same."""
        self._result("evm_setNextBlockTimestamp", time)
        self._result("anvil_mine", "0x1")

    def deploy(self, sender: str, code: bytes) -> str:
        CALLS["calls on anvil"] += 1
        return str(self._mined({"from": sender, "data": "0x" + code.hex()})["contractAddress"]).lower()

    def call(self, sender: str, to: str, data: bytes) -> Accepted | Reverted:
        """A call in the newest block, whose time the transaction's block has as well; only an accepted one is sent."""
        CALLS["calls on anvil"] += 1
        transaction = {"from": sender, "to": to, "data": "0x" + data.hex()}
        self._fund(sender)
        answer = _answer(self._ask([("eth_call", [{**transaction, **_GAS}, "latest"])])[0])
        if isinstance(answer, Reverted):
            return answer
        logs = self._mined(transaction)["logs"]
        return Accepted(
            answer.output,
            tuple(Log(log["address"], tuple(log["topics"]), bytes.fromhex(log["data"][2:])) for log in logs),
        )

    def read(self, sender: str, calls: Sequence[tuple[str, bytes]]) -> list[Accepted | Reverted]:
        CALLS["reads on anvil"] += len(calls)
        self._fund(sender)
        transactions = [{"from": sender, "to": to, "data": "0x" + data.hex(), **_GAS} for to, data in calls]
        answers = self._ask([("eth_call", [transaction, "latest"]) for transaction in transactions])
        return [_answer(answer) for answer in answers]

    def _mined(self, transaction: dict[str, str]) -> dict[str, Any]:
        self._fund(transaction["from"])
        receipt: dict[str, Any] = self._result("eth_sendTransactionSync", {**transaction, **_GAS})
        assert receipt["status"] == "0x1", "a transaction failed whose call was accepted"
        return receipt

    def _fund(self, account: str) -> None:
        if account not in self._funded:
            self._result("anvil_setBalance", account, hex(10**24))
            self._funded.add(account)

    def _result(self, method: str, *params: object) -> Any:
        (answer,) = self._ask([(method, params)])
        assert "error" not in answer, f"{method}: {answer}"
        return answer["result"]

    def _ask(self, requests: Sequence[tuple[str, Sequence[object]]]) -> list[dict[str, Any]]:
        """The answers to a batch, in its order."""
        assert self._number == _newest, "another chain has begun on the node"
        if not requests:  # JSON-RPC knows no empty batch
            return []
        batch = [
            {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            for number, (method, params) in enumerate(requests)
        ]
        connection = _connection()
        connection.request("POST", "/", json.dumps(batch), {"Content-Type": "application/json"})
        answers: list[dict[str, Any]] = json.loads(connection.getresponse().read())
        answers.sort(key=lambda answer: int(answer["id"]))
        assert [answer["id"] for answer in answers] == list(range(len(batch)))
        return answers


def stop() -> None:
    """End the node, where one was started."""
    _OPEN.close()
    _connection.cache_clear()


@cache
def _connection() -> http.client.HTTPConnection:
    """Starts the node when it is first asked."""
    server = _OPEN.enter_context(anvil.start(chain_id=CHAIN_ID, genesis_time=1, kept_states=1))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    _OPEN.callback(connection.close)
    return connection


def _answer(answer: dict[str, Any]) -> Accepted | Reverted:
    if "error" not in answer:
        return Accepted(bytes.fromhex(answer["result"][2:]), ())
    assert answer["error"]["code"] == 3, f"neither accepted nor reverted: {answer['error']}"
    return Reverted(bytes.fromhex(answer["error"]["data"][2:]))
