"""Every wrong answer that an endpoint can give to each query of the indexer, one at a time."""

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import rlp
from bounty_protocol.chain.rpc import Rpc, mapping
from bounty_protocol.keccak import keccak256

BLOCK, LOGS, PROOF, RECEIPTS = "eth_getBlockByNumber", "eth_getLogs", "eth_getProof", "eth_getBlockReceipts"
METHODS: Final = (BLOCK, LOGS, PROOF, RECEIPTS)
OTHER: Final = "0x" + "66" * 32
LATE: Final = object()
"""In place of an answer: the true one, after nobody waits for it any more."""
LATE_SECONDS: Final = 1.2

Wrong = Callable[[Rpc, list[Any], Any], Any]
"""From a client of the node, the parameters and the true result to the wrong one; the true one where none fits."""


@dataclass(frozen=True)
class Way:
    """A method and how it is answered wrong. ``counts``: the answer contradicts a header or itself."""

    method: str
    name: str
    wrong: Wrong
    counts: bool = True

    def __str__(self) -> str:
        return f"{self.method}, {self.name}"


@dataclass
class Once:
    """Answers one call of a way's method wrong: the ``place``-th of those for which a wrong answer exists; every one
    from ``place`` on where ``for_good``."""

    node: Rpc
    way: Way
    place: int
    for_good: bool = False
    met: int = 0
    given: int = 0

    def __call__(self, method: str, params: list[Any], result: Any) -> Any:
        if method != self.way.method or (method == BLOCK and not str(params[0]).startswith("0x")):
            return result
        answer = self.way.wrong(self.node, params, copy.deepcopy(result))
        if answer == result:
            return result
        self.met += 1
        if self.met == self.place or (self.for_good and self.met > self.place):
            self.given += 1
            if answer is LATE:
                time.sleep(LATE_SECONDS)
            return result if answer is LATE else answer
        return result


def ways() -> Iterator[Way]:
    """All of them."""
    for method in METHODS:
        yield Way(method, "late", lambda _node, _params, _result: LATE, counts=False)
    for name in _FIELDS:
        yield Way(BLOCK, f"altered {name}", _altering(name))
    yield Way(BLOCK, "of another block", _another_block)
    yield Way(BLOCK, "truncated", lambda _node, _params, result: _without(result, "stateRoot"))
    yield Way(BLOCK, "empty", lambda _node, _params, _result: None, counts=False)
    yield Way(LOGS, "empty", lambda _node, _params, _result: [])
    yield Way(LOGS, "truncated", lambda _node, _params, result: result[:-1])
    yield Way(LOGS, "duplicated", lambda _node, _params, result: result + result)
    yield Way(LOGS, "of another block", lambda _node, _params, result: [_earlier(each) for each in result])
    yield Way(
        LOGS, "of another branch", lambda _node, _params, result: [each | {"blockHash": OTHER} for each in result]
    )
    for name, value in {"data": _flipped_data, "topics": _flipped_topic, "transactionHash": _other_hash}.items():
        yield Way(LOGS, f"altered {name}", _changing(value))
    yield Way(LOGS, "one invented", lambda _node, _params, result: [*result, _next(result[-1])] if result else result)
    yield Way(PROOF, "empty", lambda _node, _params, _result: None, counts=False)
    yield Way(PROOF, "no nodes", lambda _node, _params, result: result | {"accountProof": []})
    yield Way(PROOF, "truncated", lambda _node, _params, result: result | {"accountProof": result["accountProof"][:-1]})
    yield Way(PROOF, "altered", _altered_proof)
    yield Way(PROOF, "of another block", _proof_of_another_block)
    yield Way(PROOF, "of another account", _proof_of_another_account)
    yield Way(RECEIPTS, "empty", lambda _node, _params, _result: [])
    yield Way(RECEIPTS, "of another block", _receipts_of_another_block)
    yield Way(RECEIPTS, "absent", lambda _node, _params, _result: None, counts=False)
    yield Way(RECEIPTS, "truncated", lambda _node, _params, result: result[:-1])
    yield Way(RECEIPTS, "duplicated", lambda _node, _params, result: result + result)
    yield Way(RECEIPTS, "without a log", _receipt_without_logs)
    yield Way(RECEIPTS, "with altered data", _receipts_with(_flipped_data))
    yield Way(RECEIPTS, "with an altered topic", _receipts_with(_flipped_topic))
    yield Way(RECEIPTS, "of another contract", _receipts_with(lambda entry: entry | {"address": "0x" + "12" * 20}))


_FIELDS: Final = {
    "hash": OTHER,
    "parentHash": OTHER,
    "stateRoot": OTHER,
    "receiptsRoot": OTHER,
    "transactionsRoot": OTHER,
    "timestamp": "0x1",
    "logsBloom": "0x" + "00" * 255 + "01",
    "gasUsed": "0x7",
    "extraData": "0x01",
    "baseFeePerGas": "0x3",
}


def _altering(name: str) -> Wrong:
    return lambda _node, _params, result: None if result is None else result | {name: _FIELDS[name]}


def _another_block(node: Rpc, params: list[Any], result: Any) -> Any:
    number = int(params[0], 16)
    return node.call(BLOCK, hex(number - 1), False) if number else result


def _without(result: Any, name: str) -> Any:
    return {key: value for key, value in result.items() if key != name} if result else result


def _receipts_of_another_block(node: Rpc, params: list[Any], result: Any) -> Any:
    """Those of the newest block before it that has other ones."""
    number = int(result[0]["blockNumber"], 16) if result else 0
    for other in range(number - 1, 0, -1):
        if found := node.call(RECEIPTS, hex(other)):
            return found
    return result


def _earlier(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {"blockNumber": hex(int(entry["blockNumber"], 16) - 1), "blockHash": OTHER}


def _next(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {"logIndex": hex(int(entry["logIndex"], 16) + 1)}


def _flipped_data(entry: dict[str, Any]) -> dict[str, Any]:
    digits = entry["data"]
    return entry | {"data": digits[:-1] + ("1" if digits[-1] == "0" else "0")} if len(digits) > 2 else entry


def _flipped_topic(entry: dict[str, Any]) -> dict[str, Any]:
    last = entry["topics"][-1]
    return entry | {"topics": [*entry["topics"][:-1], last[:-1] + ("1" if last[-1] == "0" else "0")]}


def _other_hash(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {"transactionHash": OTHER}


def _altered_proof(_node: Rpc, _params: list[Any], result: Any) -> Any:
    *above, last = result["accountProof"]
    return result | {"accountProof": [*above, last[:-1] + ("1" if last[-1] == "0" else "0")]}


def _proof_of_another_block(node: Rpc, params: list[Any], result: Any) -> Any:
    account, slots, number = params
    before = max(0, int(number, 16) - 3)
    return node.call(PROOF, account, slots, hex(before))


def _proof_of_another_account(node: Rpc, params: list[Any], result: Any) -> Any:
    """Of the first that has other nodes: one whose place in the trie is empty may be proven absent by the leaf that is
    asked for, and that proof is true of it, too."""
    proofs = (node.call(PROOF, f"0x{number:040x}", [], params[2]) for number in range(0x21, 0x31))
    return next((each for each in map(mapping, proofs) if each["accountProof"] != result["accountProof"]), result)


def _changing(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Wrong:
    return lambda _node, _params, result: [change(each) for each in result]


def _receipt_without_logs(_node: Rpc, _params: list[Any], result: Any) -> Any:
    return [each | {"logs": []} for each in result]


def _receipts_with(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Wrong:
    def changed(_node: Rpc, _params: list[Any], result: Any) -> Any:
        return [each | {"logs": [change(entry) for entry in each["logs"]]} for each in result]

    return changed


def sealed(block: dict[str, Any]) -> dict[str, Any]:
    """A block with the hash that its fields have, as one who invents a branch makes it."""
    names = (
        *("parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom"),
        *("difficulty", "number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce"),
        *("baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot", "requestsHash"),
    )
    numbers = {
        "difficulty",
        "number",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "baseFeePerGas",
        "blobGasUsed",
        "excessBlobGas",
    }
    fields = [
        int(block[name], 16) if name in numbers else bytes.fromhex(block[name][2:]) for name in names if name in block
    ]
    return block | {"hash": "0x" + keccak256(rlp.encode(fields)).hex()}
