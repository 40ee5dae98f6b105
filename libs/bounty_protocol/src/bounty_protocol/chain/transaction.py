"""A transaction with a price of gas of its own (EIP-1559, type 2), signed by a plain key."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bounty_protocol.auth.secp256k1 import BINDING
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, ChainId, Wei, to_bytes

_TYPE: Final = b"\2"
_TEXT, _LIST = 0x80, 0xC0
_SHORT: Final = 55
"""The longest bytes or list whose length stands in the first byte."""
Rlp = bytes | Sequence["Rlp"]


@dataclass(frozen=True, slots=True)
class UnsignedTransaction:
    """A call of a contract, without ether and without an access list."""

    chain_id: ChainId
    nonce: int
    tip: Wei
    """Per unit of gas, as ``fee_cap``."""
    fee_cap: Wei
    gas: int
    to: Address
    data: bytes

    def signed(self, private_key: bytes) -> bytes:
        """Sign; return the raw transaction."""
        numbers = (self.chain_id, self.nonce, self.tip, self.fee_cap, self.gas)
        fields: list[Rlp] = [*map(_number, numbers), to_bytes(self.to), _number(0), self.data, ()]
        compact, parity = BINDING.sign(keccak256(_TYPE + rlp(fields)), private_key)
        r, s = (int.from_bytes(half, "big") for half in (compact[:32], compact[32:]))
        return _TYPE + rlp([*fields, *map(_number, (parity, r, s))])


def rlp(value: Rlp) -> bytes:
    """Encode bytes and lists of them in Recursive Length Prefix."""
    if not isinstance(value, bytes):
        items = b"".join(map(rlp, value))
        return _head(_LIST, len(items)) + items
    if len(value) == 1 and value[0] < _TEXT:
        return value
    return _head(_TEXT, len(value)) + value


def _head(kind: int, length: int) -> bytes:
    if length <= _SHORT:
        return bytes([kind + length])
    size = _number(length)
    return bytes([kind + _SHORT + len(size)]) + size


def _number(value: int) -> bytes:
    """Encode a number without leading zeros; 0 as nothing."""
    return value.to_bytes((value.bit_length() + 7) // 8, "big")
