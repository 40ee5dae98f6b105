"""A node of a chain with nothing but a Hub, made by hand, of which a test may alter each answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import eth_abi
from eth_utils.crypto import keccak
from service_audit.events import BY_TOPIC, TRANSFER, HubLog
from service_audit.http import HttpReply
from service_audit.rules import World
from service_audit.views import BOUNTY_VIEW, bounty_view

from tests.audit.logs import CHAIN, HUB, TOKEN, Written

Raw = Callable[[int, str, bytes], bytes]
"""Of the number of a request, from 1 on, its method and its true answer: what is sent."""
NODE: Final = "http://node/v1/a-key-of-mine"


def encoded(log: HubLog) -> dict[str, object]:
    """An event as a node shows it."""
    topic, signature = next(item for item in BY_TOPIC.items() if item[1].name == log.name)
    topics, kinds, values = [topic], list[str](), list[object]()
    for name, kind, is_topic in signature.fields:
        if is_topic:
            topics.append("0x" + eth_abi.abi.encode([kind], [_value(kind, log.fields[name])]).hex())
        else:
            kinds.append(kind)
            values.append(_value(kind, log.fields[name]))
    return _shown(HUB, log, topics, eth_abi.abi.encode(kinds, values), 1)


def _value(kind: str, value: Any) -> Any:
    if kind.startswith("bytes32"):
        return [bytes.fromhex(each[2:]) for each in value] if kind.endswith("[]") else bytes.fromhex(value[2:])
    return value


def _shown(address: str, log: HubLog, topics: list[str], data: bytes, index: int) -> dict[str, object]:
    place = log.place
    return {
        "address": address, "topics": topics, "data": "0x" + data.hex(), "blockNumber": hex(place.block_number),
        "blockHash": place.block_hash, "logIndex": hex(index), "transactionHash": place.tx_hash,
    }  # fmt: skip


@dataclass
class HandMadeNode:
    """Answers for the events of ``written``, whose newest block is final."""

    written: Written
    alter: Raw = lambda _number, _method, answer: answer
    asked: list[str] = field(default_factory=list)

    def __call__(self, _method: str, _url: str, body: bytes | None, _headers: Mapping[str, str]) -> HttpReply:
        request = json.loads(body or b"")
        if isinstance(request, list):
            return HttpReply(200, {}, b"[" + b",".join(self._answer(each) for each in request) + b"]")
        return HttpReply(200, {}, self._answer(request))

    def _answer(self, request: dict[str, Any]) -> bytes:
        self.asked.append(request["method"])
        found = getattr(self, request["method"])(*request["params"])
        answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": found}).encode()
        return self.alter(len(self.asked), request["method"], answer)

    def eth_chainId(self) -> str:
        return hex(CHAIN)

    def eth_getBlockByNumber(self, at: str, _whole: bool) -> dict[str, str]:
        number = len(self.written.logs) if at in {"latest", "finalized"} else int(at, 16)
        place = self.written.logs[max(number, 1) - 1].place
        return {"number": hex(number), "hash": f"0x{number:064x}", "timestamp": hex(place.time)}

    def eth_getLogs(self, wanted: dict[str, Any]) -> list[dict[str, object]]:
        begin, end = (int(wanted[name], 16) for name in ("fromBlock", "toBlock"))
        logs = [log for log in self.written.logs if begin <= log.place.block_number <= end]
        if wanted["address"] == HUB:
            return [encoded(log) for log in logs]
        topics, created = wanted["topics"], [log for log in logs if log.name == "BountyCreated"]
        if topics[1] is not None:
            return []
        return [
            _shown(TOKEN, log, [TRANSFER, _word(log.text("poster")), _word(HUB)],
                   eth_abi.abi.encode(["uint256"], [log.number("escrow_amount")]), 0)
            for log in created
        ]  # fmt: skip

    def eth_call(self, call: dict[str, str], at: str) -> str:
        world = Written([log for log in self.written.logs if log.place.block_number <= int(at, 16)]).replay()
        for function, (returns, view) in _VIEWS.items():
            selector = keccak(text=function)[:4].hex()
            if call["data"][2:10] == selector:
                kinds = [kind for kind in function.partition("(")[2].rstrip(")").split(",") if kind]
                arguments = eth_abi.abi.decode(kinds, bytes.fromhex(call["data"][10:]))
                return "0x" + eth_abi.abi.encode(returns, view(world, *arguments)).hex()
        raise AssertionError(call)


def _word(address: str) -> str:
    return "0x" + address[2:].rjust(64, "0")


def _bounty(world: World, number: int) -> list[Any]:
    shown = bounty_view(world.bounties[number])
    return [_value(kind, shown[name]) for name, kind in BOUNTY_VIEW]


def _submission(world: World, number: int, solver: str) -> list[Any]:
    return [_value("bytes32", world.bounties[number].submissions[solver].text("submission_commitment"))]


def _verdict(world: World, number: int, guardian: str) -> list[Any]:
    verdict = world.bounties[number].verdicts.get(guardian)
    if verdict is None:
        return [0, "0x" + "00" * 20, bytes(32)]
    work = _value("bytes32", verdict.text("submission_commitment"))
    return [verdict.number("kind"), verdict.text("solver"), work]


def _claimable(world: World, number: int, account: str) -> list[Any]:
    bounty = world.bounties[number]
    paid = bounty.paid()
    return [sum(amount - paid.get(key, 0) for key, amount in bounty.parts().items() if key[1] == account)]


def _roster(world: World, version: int) -> list[Any]:
    found = world.rosters[version]
    active = [world.active.get(account, 0) for account in found.accounts]
    keys = _value("bytes32[]", found.keys)
    return [(_value("bytes32", found.hash), found.quorum, found.accounts, keys, active, found.effective_from)]


_VIEWS: Final[dict[str, tuple[list[str], Callable[..., list[Any]]]]] = {
    "balanceOf(address)": (["uint256"], lambda world, _: [world.owed()]),
    "getBounty(uint256)": ([kind for _, kind in BOUNTY_VIEW], _bounty),
    "getSubmission(uint256,address)": (["bytes32"], _submission),
    "getVerdict(uint256,address)": (["uint8", "address", "bytes32"], _verdict),
    "claimable(uint256,address)": (["uint256"], _claimable),
    "getRoster(uint256)": (["(bytes32,uint256,address[],bytes32[],uint256[],uint256)"], _roster),
    "currentRosterVersion()": (["uint256"], lambda world: [len(world.rosters)]),
    "feePolicy()": (["uint256", "uint256", "address"], lambda world: list(world.fees)),
    "owner()": (["address"], lambda world: [world.owner]),
    "pendingOwner()": (["address"], lambda world: [world.pending_owner]),
    "deliveryKey()": (["bytes32"], lambda _: [bytes(32)]),
    "token()": (["address"], lambda world: [world.terms.token]),
    "revealDelay()": (["uint256"], lambda world: [world.terms.reveal_delay]),
    "publicationDelay()": (["uint256"], lambda world: [world.terms.publication_delay]),
    "minEscrow()": (["uint256"], lambda world: [world.terms.min_escrow]),
    "announcedRoster()": (["uint256", "uint256"], lambda _: [0, 0]),
    "announcedDeliveryKey()": (["bytes32", "uint256"], lambda _: [bytes(32), 0]),
    "minSubmissionWindow()": (["uint256"], lambda world: [world.terms.min_submission_window]),
    "maxSubmissionWindow()": (["uint256"], lambda world: [world.terms.max_submission_window]),
    "minJudgingWindow()": (["uint256"], lambda world: [world.terms.min_judging_window]),
    "maxJudgingWindow()": (["uint256"], lambda world: [world.terms.max_judging_window]),
    "maxProtocolFeeBps()": (["uint256"], lambda _: [1_000]),
    "maxGuardianFeeBps()": (["uint256"], lambda _: [2_000]),
}
