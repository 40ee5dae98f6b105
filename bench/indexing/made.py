"""Endpoints of which each call is counted, and a history of any length that is made by formula."""

import json
from collections.abc import Sequence
from typing import Any, Final

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.rpc import Call, Rpc, RpcRefused
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address

HUB: Final = Address("0x" + "42" * 20)
_BORN: Final = 1_700_000_000
_HEARTBEAT: Final = next(event for event in hub_abi().events.values() if event.name == "GuardianHeartbeat")


class CountingRpc(Rpc):
    """Counts calls, and the bytes of their answers as JSON."""

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__(urls)
        self.calls = self.bytes = 0

    def ask(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        answers = self.answers(endpoint, calls)
        self.calls += len(calls)
        self.bytes += sum(len(json.dumps(each)) + 40 for each in answers if not isinstance(each, RpcRefused))
        return answers

    def answers(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        return super().ask(endpoint, calls)


class MadeHistory(CountingRpc):
    """A chain of so many final blocks of 0.2 s with a heartbeat in every ``apart``-th; ranges of at most ``span``."""

    def __init__(self, blocks: int, apart: int, span: int) -> None:
        super().__init__(["http://127.0.0.1:9"])
        self.blocks, self.apart, self.span = blocks, apart, span

    def answers(self, _endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        return [self._answer(method, params) for method, params in calls]

    def _answer(self, method: str, params: Sequence[Any]) -> object:
        if method == "eth_getProof":
            return {"storageHash": _word("root")}
        if method == "eth_call":
            revert = next(error for error in hub_abi().errors.values() if error.name == "BountyNotFound")
            return RpcRefused(3, "execution reverted", revert.selector + bytes(32))
        if method == "eth_getBlockByNumber":
            return self._block(self.blocks if params[0] in {"latest", "finalized"} else int(params[0], 16))
        first, last = int(params[0]["fromBlock"], 16), int(params[0]["toBlock"], 16)
        if last - first >= self.span:
            return RpcRefused(-32602, f"ranges over {self.span} blocks are not supported")
        return [self._log(number) for number in range(-(-first // self.apart) * self.apart, last + 1, self.apart)]

    def _block(self, number: int) -> dict[str, object]:
        time = hex(_BORN + number // 5)
        return {"number": hex(number), "hash": _word(number), "parentHash": _word(number - 1), "timestamp": time}

    def _log(self, number: int) -> dict[str, object]:
        topics = [_HEARTBEAT.topic, "0x" + f"{1 + number % 9:064x}"]
        place = {"blockNumber": hex(number), "blockHash": _word(number), "logIndex": "0x0"}
        return {"address": HUB, "topics": topics, "data": "0x", "transactionHash": _word(f"tx {number}"), **place}


def _word(name: object) -> str:
    return "0x" + keccak256(str(name).encode()).hex()
