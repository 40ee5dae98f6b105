"""A block's receipts, which its header's ``receiptsRoot`` covers: with them an endpoint can neither hide, alter nor
invent a log. What the root does not cover is a transaction's hash, which is shown and decides nothing.

Receipts are encoded as on Ethereum, each behind the number of its type, and deposits as on the OP stack.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bounty_protocol.chain.blocks import Header
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.rpc import hash_of, mapping, quantity
from bounty_protocol.types import Address, Bytes32

from service_indexer.contradiction import Contradiction
from service_indexer.merkle import EMPTY_ROOT, encode_list, encode_string, list_root


def logs_of_receipts(header: Header, answer: object, address: Address) -> list[Log]:
    """The contract's logs of exactly this block, out of its receipts; ``Contradiction`` where they are not its own."""
    if not isinstance(answer, list):
        raise Contradiction("an RPC endpoint answered no list of receipts")
    receipts = [mapping(receipt) for receipt in answer]
    try:
        root = list_root([_encoded(receipt) for receipt in receipts])
    except (ValueError, TypeError, KeyError, AttributeError):
        raise Contradiction("an RPC endpoint answered a receipt that cannot be read") from None
    if root != header.receipts_root:
        raise Contradiction("an RPC endpoint answered receipts that are not of the block")
    return list(_logs(header, receipts, address))


def has_no_receipts(header: Header) -> bool:
    """Whether the header alone shows that the block has not one transaction."""
    return header.receipts_root == EMPTY_ROOT


def _logs(header: Header, receipts: list[dict[str, Any]], address: Address) -> Iterator[Log]:
    """Of receipts that have the header's root: what their logs hold is of the right shape."""
    place = 0
    for receipt in receipts:
        for entry in receipt["logs"]:
            if entry["address"].lower() == address:
                yield Log(
                    address=address,
                    block_number=header.number,
                    block_hash=header.hash,
                    log_index=place,
                    tx_hash=hash_of(receipt.get("transactionHash")),
                    topics=tuple(Bytes32(topic.lower()) for topic in entry["topics"]),
                    data=bytes.fromhex(entry["data"][2:]),
                )
            place += 1


def _encoded(receipt: Mapping[str, Any]) -> bytes:
    """A receipt as its tree has it."""
    kind = quantity(receipt.get("type", "0x0"))
    state = receipt.get("root")  # of a block before 2017, in place of the status
    fields = [
        _bytes(state) if state else _digits(receipt["status"]),
        _digits(receipt["cumulativeGasUsed"]),
        _bytes(receipt["logsBloom"]),
        encode_list(b"".join(map(_encoded_log, receipt["logs"]))),
    ]
    if receipt.get("depositReceiptVersion") is not None:
        fields += [_digits(receipt["depositNonce"]), _digits(receipt["depositReceiptVersion"])]
    return (bytes([kind]) if kind else b"") + encode_list(b"".join(fields))


def _encoded_log(entry: Mapping[str, Any]) -> bytes:
    topics = encode_list(b"".join(map(_bytes, entry["topics"])))
    return encode_list(_bytes(entry["address"]) + topics + _bytes(entry["data"]))


def _bytes(value: str) -> bytes:
    if value[:2] != "0x":
        raise ValueError("not a byte string")
    return encode_string(bytes.fromhex(value[2:]))


def _digits(value: object) -> bytes:
    number = quantity(value)
    return encode_string(number.to_bytes((number.bit_length() + 7) // 8, "big"))
