"""The limits of each JSON-RPC method's answer: how many bytes, and of which shape.

Most answers are a number or a few hundred bytes. A block names its transactions and a receipt lists its logs: of these
only the fields are read that somebody uses, each within its own length, and the rest is passed over without being
built. The logs of one block may be as many as its gas buys, so their bound is a block's and not ours to choose smaller:
an index that refused them would stop at that block for ever. A range of blocks can be requested again in parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Final, TypedDict

import msgspec

KIB: Final = 1024
MIB: Final = 1024 * KIB
PLAIN_BYTES: Final = 64 * KIB
MOST_BYTES: Final = 32 * MIB
"""Bytes of any answer: of the logs of one block, or of a batch."""
RANGE_BYTES: Final = 8 * MIB
MOST_LOGS: Final = MOST_BYTES // 512
"""Logs of one answer: the shortest log of the Hub is longer than 512 bytes."""

_Account = Annotated[str, msgspec.Meta(max_length=42)]
_Number = Annotated[str, msgspec.Meta(max_length=66)]
_Hash = Annotated[str, msgspec.Meta(min_length=66, max_length=66)]
_Data = Annotated[str, msgspec.Meta(max_length=PLAIN_BYTES)]


class BlockFields(TypedDict, total=False):
    """A block without its transactions."""

    number: _Number | None
    hash: _Hash | None
    parentHash: _Hash
    timestamp: _Number
    baseFeePerGas: _Number | None
    gasLimit: _Number


class LogFields(TypedDict):
    """One log."""

    address: _Account
    topics: list[_Hash]
    data: _Data
    blockNumber: _Number | None
    blockHash: _Hash | None
    transactionHash: _Hash | None
    logIndex: _Number | None


class _OfReceipt(TypedDict):
    transactionHash: _Hash
    blockHash: _Hash | None
    blockNumber: _Number | None
    logs: list[LogFields]


_More = TypedDict("_More", {"from": _Account, "to": _Account | None, "contractAddress": _Account | None}, total=False)


class ReceiptFields(_OfReceipt, _More, total=False):
    """A receipt. ``l1Fee`` is what a rollup adds for its data."""

    status: _Number
    transactionIndex: _Number
    gasUsed: _Number
    cumulativeGasUsed: _Number
    effectiveGasPrice: _Number
    l1Fee: _Number | None
    type: _Number


@dataclass(frozen=True, slots=True)
class Expected:
    """How long an answer may be, and of which type its result is."""

    most_bytes: int
    result: Any = Any


_PLAIN: Final = Expected(PLAIN_BYTES)
_METHODS: Final = {
    "eth_getBlockByNumber": Expected(MIB, BlockFields | None),
    "eth_getBlockByHash": Expected(MIB, BlockFields | None),
    "eth_getCode": Expected(512 * KIB, str),
    "eth_getTransactionByHash": Expected(512 * KIB),
    "eth_getTransactionReceipt": Expected(4 * MIB, ReceiptFields | None),
}
_Logs = Annotated[list[LogFields], msgspec.Meta(max_length=MOST_LOGS)]
_LOGS_OF_BLOCK: Final = Expected(MOST_BYTES, _Logs)
_LOGS_OF_RANGE: Final = Expected(RANGE_BYTES, _Logs)


def expected(method: str, params: Sequence[object]) -> Expected:
    """Return the limits of one call's answer."""
    if method == "eth_getLogs":
        place = params[0] if params and isinstance(params[0], dict) else {}
        of_block = "blockHash" in place or place.get("fromBlock", "") == place.get("toBlock")
        return _LOGS_OF_BLOCK if of_block else _LOGS_OF_RANGE
    return _METHODS.get(method, _PLAIN)


class RpcEnvelope(msgspec.Struct):
    """An answer whose result or error is not read yet."""

    id: int
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


def read_envelopes(body: bytes, count: int) -> list[RpcEnvelope]:
    """Parse the answers to ``count`` calls, in any order; ``ValueError`` or ``RecursionError`` if malformed."""
    return list(_decoder_of_batch(count).decode(body)) if count > 1 else [_ONE.decode(body)]


def read_result(answer: RpcEnvelope, wanted: Expected) -> object:
    """Parse the result, of the expected type; raise as ``read_envelopes`` does."""
    return _decoder_of(wanted).decode(answer.result)


def read_error(answer: RpcEnvelope) -> object:
    """Parse the endpoint's error to plain values, or return None; raise as ``read_envelopes`` does."""
    size = len(memoryview(answer.error))
    if size > PLAIN_BYTES:
        raise ValueError("an error that is too long")
    return msgspec.json.decode(answer.error) if size else None


_ONE: Final = msgspec.json.Decoder(RpcEnvelope)


@cache
def _decoder_of(wanted: Expected) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(wanted.result)


@cache
def _decoder_of_batch(count: int) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(tuple[(RpcEnvelope,) * count])  # type: ignore[misc]  # its length is checked as it is read


for _each in (_PLAIN, _LOGS_OF_BLOCK, _LOGS_OF_RANGE, *_METHODS.values()):
    _decoder_of(_each)  # what it loads is loaded before a server forks
