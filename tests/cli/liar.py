"""An endpoint that answers a view of the Hub with other values, or hides what is recorded."""

from collections.abc import Callable, Mapping
from typing import Any

from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.types import Bytes32

from tests.cli.servers import Params, RpcProxy

After = Callable[[str, Params, object], object]


def view_with(function: str, **values: int) -> After:
    """The named fields of what a view returns are these; one without a name is ``word0`` and so on."""
    codec = hub_abi().functions[function]
    outputs = codec.outputs[0].fields or codec.outputs
    places = {field.name or f"word{place}": place for place, field in enumerate(outputs)}

    def after(method: str, params: Params, result: object) -> object:
        call = params[0] if params else None
        if method != "eth_call" or not isinstance(call, dict):
            return result
        if not str(call["data"]).startswith("0x" + codec.selector.hex()) or not isinstance(result, str):
            return result
        words = [result[2:][at : at + 64] for at in range(0, len(result) - 2, 64)]
        for name, value in values.items():
            words[places[name]] = f"{value:064x}"
        return "0x" + "".join(words)

    return after


def all_of(*lies: After) -> After:
    """Several lies at once."""

    def after(method: str, params: Params, result: object) -> object:
        for lie in lies:
            result = lie(method, params, result)
        return result

    return after


def blocks_at(time: Callable[[int], int]) -> After:
    """Each block's time is another."""

    def after(method: str, _params: Params, result: object) -> object:
        if method == "eth_getBlockByNumber" and isinstance(result, dict):
            return {**result, "timestamp": hex(time(int(str(result["timestamp"]), 16)))}
        return result

    return after


def without_logs(*topics: str) -> After:
    """Logs with one of these topics are not there."""

    def after(method: str, _params: Params, result: object) -> object:
        if method == "eth_getLogs" and isinstance(result, list):
            return [log for log in result if not set(log["topics"]) & set(topics)]
        return result

    return after


def number_of(value: Bytes32 | str) -> int:
    """An account or a 32-byte value as a word."""
    return int(value, 16)


_SUBMISSION = "0x" + hub_abi().functions["getSubmission"].selector.hex()


def hide(rpc: RpcProxy, *done: Mapping[str, object], block: bool = True, reverted: bool = False) -> None:
    """The endpoint shows nothing of these Submissions: no log or receipt, or a receipt of failure; with ``block``
    another block in the place of theirs."""
    hashes, heights = {one["tx_hash"] for one in done}, {one.get("block_number") for one in done if block}

    def after(method: str, params: Params, found: Any) -> object:
        if method == "eth_getLogs":
            return [log for log in found if log["transactionHash"] not in hashes]
        if method == "eth_getTransactionReceipt" and params[0] in hashes:
            return found | {"status": "0x0", "logs": []} if reverted else None
        if method == "eth_getTransactionByHash" and params[0] in hashes:
            return None
        if method == "eth_call" and str(params[0].get("data")).startswith(_SUBMISSION):
            return "0x" + "00" * 32
        if method == "eth_getBlockByNumber" and found and int(found["number"], 16) in heights:
            return found | {"hash": "0x" + "99" * 32}
        return found

    rpc.after = after
