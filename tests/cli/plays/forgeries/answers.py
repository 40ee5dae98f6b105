"""How an answer is forged so that it still looks like one: decoded, changed by name, and encoded again.

What is forged here is consistent: a block's time is the same by its number and as the newest one, a log is
in the receipt and in the list, a transaction that nobody forwarded has a hash.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bounty_protocol.chain.abi import Function, Parameter, hub_abi, snake_case
from bounty_protocol.chain.rpc import Rpc, RpcRefused
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Bytes32
from eth_abi.abi import decode, encode

from tests.cli.servers import Params, Reply, Request

Json = dict[str, Any]
Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answers:
    """What an endpoint answers in place of the truth.

    ``instead`` answers an RPC call without querying the node, ``altered`` changes what the node answered, and
    ``replied`` changes a reply of the API; each leaves alone what it is not about.
    """

    instead: Callable[[str, Params], Json | None] = lambda _method, _params: None
    altered: Callable[[str, Params, Any], Any] = lambda _method, _params, result: result
    replied: Callable[[str, Request, Reply], Reply] = lambda _route, _request, reply: reply


def together(*several: Answers) -> Answers:
    """All of them at once, the first that answers something first."""

    def instead(method: str, params: Params) -> Json | None:
        return next((found for each in several if (found := each.instead(method, params)) is not None), None)

    def altered(method: str, params: Params, result: Any) -> Any:
        for each in several:
            result = each.altered(method, params, result)
        return result

    def replied(route: str, request: Request, reply: Reply) -> Reply:
        for each in several:
            reply = each.replied(route, request, reply)
        return reply

    return Answers(instead, altered, replied)


def result_of(method: str, value: Callable[[Any], Any], *, tag: str | None = None) -> Answers:
    """The result of one method, of those calls that end with a tag where one is named."""

    def altered(called: str, params: Params, result: Any) -> Any:
        return value(result) if called == method and (tag is None or params[-1] == tag) else result

    return Answers(altered=altered)


# -------------------------------------------------------------------- views of the Hub and its token


def view(hub: str, function: str, change: Callable[[Fields, tuple[Any, ...]], Fields]) -> Answers:
    """A view of the Hub; ``change`` gets its fields by name and the call's arguments, and returns those that differ."""
    codec = hub_abi().functions[function]
    selector = "0x" + codec.selector.hex()

    def altered(method: str, params: Params, result: Any) -> Any:
        if method != "eth_call" or not isinstance(result, str) or not isinstance(call := params[0], dict):
            return result
        data = str(call.get("data", ""))
        if call.get("to") != hub or not data.startswith(selector):
            return result
        arguments = decode([each.type for each in codec.inputs], bytes.fromhex(data[10:])) if codec.inputs else ()
        return changed_answer(codec, result, lambda fields: change(fields, arguments))

    return Answers(altered=altered)


def changed_answer(codec: Function, answer: str, change: Callable[[Fields], Fields]) -> str:
    """The encoded answer of a view with some fields changed."""
    outputs: tuple[Parameter, ...] = codec.outputs
    values: Any = decode([each.type for each in outputs], bytes.fromhex(answer[2:]))
    is_struct = len(outputs) == 1 and bool(outputs[0].fields)
    parts = outputs[0].fields if is_struct else outputs
    inner = values[0] if is_struct else values
    names = [snake_case(part.name) or str(place) for place, part in enumerate(parts)]
    fields = dict(zip(names, inner, strict=True))
    changes = change(fields)
    assert set(changes) <= set(fields), (codec.name, sorted(fields), sorted(changes))
    new = tuple((fields | dict(changes)).values())
    return "0x" + encode([each.type for each in outputs], [new] if is_struct else new).hex()


def token_answer(token: str, selector: str, value: Callable[[str], str]) -> Answers:
    """What the token answers to the calls that begin with a selector."""

    def altered(method: str, params: Params, result: Any) -> Any:
        call = params[0] if params else None
        if method == "eth_call" and isinstance(call, dict) and call.get("to") == token:
            return value(result) if str(call.get("data", "")).startswith(selector) else result
        return result

    return Answers(altered=altered)


def word(value: int) -> str:
    """A number as a call answers it."""
    return f"0x{value:064x}"


# -------------------------------------------------------------------- blocks


def blocks(change: Callable[[str, Json], Json], rpc: Rpc) -> Answers:
    """Headers: ``change`` gets which it is (``latest``, by its number too, ``finalized``, ``older``) and the header."""

    def altered(method: str, params: Params, result: Any) -> Any:
        if method != "eth_getBlockByNumber" or not isinstance(result, dict):
            return result
        newest = params[0] in {"latest", "pending"} or result["number"] == rpc.call("eth_blockNumber")
        place = "finalized" if params[0] == "finalized" else "latest" if newest else "older"
        return result | change(place, result)

    return Answers(altered=altered)


def shifted(header: Json, seconds: int) -> Json:
    """Another time in a header."""
    return {"timestamp": hex(max(0, int(header["timestamp"], 16) + seconds))}


# -------------------------------------------------------------------- logs


def topic_of(event: str) -> Bytes32:
    """The first topic of one of the Hub's events."""
    return hub_abi().event(event).topic


def listed(change: Callable[[list[Json]], Iterable[Json]]) -> Answers:
    """The logs of a list and of a receipt."""

    def altered(method: str, _params: Params, result: Any) -> Any:
        if method == "eth_getLogs" and isinstance(result, list):
            return list(change(result))
        if method == "eth_getTransactionReceipt" and isinstance(result, dict):
            return result | {"logs": list(change(result["logs"]))}
        return result

    return Answers(altered=altered)


def hidden(event: str, which: Callable[[list[Json]], list[Json]] = lambda found: found) -> Answers:
    """Logs of an event that do not show; ``which`` of them."""
    topic = topic_of(event)

    def change(logs: list[Json]) -> list[Json]:
        gone = which([log for log in logs if log["topics"][0] == topic])
        return [log for log in logs if log not in gone]

    return listed(change)


def invented(make: Callable[[], Json | None]) -> Answers:
    """One more log, wherever a list would have it."""

    def altered(method: str, params: Params, result: Any) -> Any:
        if method != "eth_getLogs" or not isinstance(result, list) or not isinstance(params[0], dict):
            return result
        log = make()
        return result if log is None or not _wanted(log, params[0]) else [*result, log]

    return Answers(altered=altered)


def _wanted(log: Json, wanted: Json) -> bool:
    topics = wanted.get("topics") or []
    fits = all(
        topic is None or (place < len(log["topics"]) and log["topics"][place] == topic)
        for place, topic in enumerate(topics)
    )
    height, last = int(log["blockNumber"], 16), wanted.get("toBlock", "latest")
    after = int(str(wanted.get("fromBlock", "0x0")), 16) <= height
    before = not str(last).startswith("0x") or height <= int(str(last), 16)
    return fits and after and before and str(wanted.get("address", log["address"])).lower() == log["address"]


def log_of(block: Json, address: str, topics: list[str], data: str, index: int = 0) -> Json:
    """A log in a block that is there, of a transaction that is not."""
    return {
        "address": address,
        "topics": topics,
        "data": data,
        "blockNumber": block["number"],
        "blockHash": block["hash"],
        "transactionHash": "0x" + keccak256(repr((topics, data)).encode()).hex(),
        "transactionIndex": "0x0",
        "logIndex": hex(index),
        "removed": False,
    }


def hub_log(block: Json, address: str, event: str, values: Mapping[str, Any], index: int = 0) -> Json:
    """A log of the Hub, from an event's fields by their names in the ABI."""
    found = hub_abi().events[topic_of(event)]
    topics: list[str] = [found.topic]
    topics += ["0x" + encode([each.type], [values[each.name]]).hex() for each in found.inputs if each.indexed]
    plain = [each for each in found.inputs if not each.indexed]
    data = encode([each.type for each in plain], [values[each.name] for each in plain])
    return log_of(block, address, topics, "0x" + data.hex(), index)


# -------------------------------------------------------------------- transactions


def hash_of(raw: object) -> str:
    """The hash of a signed transaction."""
    return "0x" + keccak256(bytes.fromhex(str(raw)[2:])).hex()


def dropped() -> Answers:
    """A node that takes transactions, and forwards none."""

    def instead(method: str, params: Params) -> Json | None:
        return {"result": hash_of(params[0])} if method == "eth_sendRawTransaction" else None

    return Answers(instead)


def refused_but_sent(forward: Callable[[object], None], message: str) -> Answers:
    """A node that forwards a transaction and answers that it did not."""

    def instead(method: str, params: Params) -> Json | None:
        if method != "eth_sendRawTransaction":
            return None
        forward(params[0])
        return {"error": {"code": -32_000, "message": message}}

    return Answers(instead)


def receipt_for(block: Json, tx_hash: object, status: int) -> Json:
    """A receipt without logs."""
    return {
        "transactionHash": tx_hash,
        "transactionIndex": "0x0",
        "blockNumber": block["number"],
        "blockHash": block["hash"],
        "status": hex(status),
        "logs": [],
        "logsBloom": "0x" + "00" * 256,
        "gasUsed": "0xea60",
        "effectiveGasPrice": "0x3b9aca00",
        "cumulativeGasUsed": "0xea60",
        "type": "0x2",
    }


def stale(rpc: Rpc, height: Callable[[], int]) -> Answers:
    """A node that has seen nothing since a block."""

    def instead(method: str, params: Params) -> Json | None:
        at = hex(height())
        if method == "eth_blockNumber":
            return {"result": at}
        places = {"eth_call": 1, "eth_getBlockByNumber": 0, "eth_getTransactionCount": 1, "eth_getBalance": 1}
        if (place := places.get(method)) is None or params[place] not in {"latest", "pending"}:
            return None
        older = [*params[:place], at, *params[place + 1 :]]
        try:
            return {"result": rpc.call(method, *older)}
        except RpcRefused as refusal:
            data = {"data": "0x" + refusal.data.hex()} if refusal.data else {}
            return {"error": {"code": refusal.code, "message": refusal.message, **data}}

    return Answers(instead)
