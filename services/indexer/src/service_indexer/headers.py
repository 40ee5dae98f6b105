"""Block headers whose hash is computed from their fields, so that what a header says is what the chain's hash covers.

The fields are Ethereum's and those of the OP stack, Base's among them. A later upgrade of a chain may add one: its
headers are refused until a release knows it, or until ``SERVICE_RPC_PROOFS`` is ``off``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import rlp
from bounty_protocol.chain.blocks import Header, parse_header
from bounty_protocol.chain.rpc import hash_of, hex_bytes, mapping, quantity
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import bytes32

from service_indexer.contradiction import Contradiction

_NUMBERS: Final = frozenset(
    {"difficulty", "number", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas"}
)
_FIRST: Final = (
    "parentHash",
    "sha3Uncles",
    "miner",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
)
"""The fields of every header, in the order in which they are hashed."""
_LATER: Final = (
    "baseFeePerGas",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
)
"""Fields that upgrades added behind those, each only where those before it are."""


def parse_proven_header(answer: object) -> Header:
    """A header from ``eth_getBlockBy…`` with its roots; ``Contradiction`` where its hash is not that of its fields."""
    header, fields = parse_header(answer), mapping(answer)
    try:
        computed = bytes32(keccak256(rlp.encode(list(_hashed(fields)))))
    except ValueError:
        raise Contradiction("an RPC endpoint answered a block header that lacks a field") from None
    if computed != header.hash:
        raise Contradiction("an RPC endpoint answered a block header that does not have its own hash")
    return replace(header, state_root=hash_of(fields["stateRoot"]), receipts_root=hash_of(fields["receiptsRoot"]))


def _hashed(fields: Mapping[str, object]) -> Iterator[bytes]:
    later = [name for name in _LATER if fields.get(name) is not None]
    for name in (*_FIRST, *later):
        value = fields.get(name)
        yield _digits(quantity(value)) if name in _NUMBERS else hex_bytes(value)


def _digits(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
