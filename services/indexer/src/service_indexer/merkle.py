"""Ethereum's Merkle trees: the root of a whole tree, and the Hub's storage root out of a proof.

Roots are computed here, from sorted keys and each node once: the library builds a tree by inserting into it, which
takes twenty times as long for the receipts of a block. Proofs are checked by the library, which is the second opinion
on our roots in the tests, too.
"""

from collections.abc import Iterable, Sequence
from typing import Final, cast

import rlp
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, Bytes32, bytes32, to_bytes
from rlp.exceptions import RLPException
from trie.exceptions import BadTrieProof, ValidationError
from trie.hexary import HexaryTrie

Item = tuple[bytes, bytes]
"""A key and its value."""
EMPTY_ROOT: Final = bytes32(keccak256(rlp.encode(b"")))
"""Of a tree without a value, such as the storage of a contract before its creation."""
_EMPTY: Final = b"\x80"


class FalseProof(ValueError):
    """A proof that does not lead from the root to what it claims."""


def storage_root(state_root: Bytes32, account: Address, proof: Sequence[bytes]) -> Bytes32:
    """The account's storage root in the state with this root; ``EMPTY_ROOT`` where there is no such account.

    Raises ``FalseProof``. ``proof``: the nodes from the root down, as ``eth_getProof`` lists them.
    """
    if len(proof) > 64 or not all(proof):
        raise FalseProof("no proof")
    try:
        nodes = [rlp.decode(node) for node in proof]
        kept = HexaryTrie.get_from_proof(to_bytes(state_root), keccak256(to_bytes(account)), nodes)
        if not kept:
            return EMPTY_ROOT
        _nonce, _balance, root, _code = cast("list[bytes]", rlp.decode(kept))
        return bytes32(root)
    except (BadTrieProof, ValidationError, RLPException, ValueError, TypeError, KeyError, IndexError) as error:
        raise FalseProof(str(error)) from None


def list_root(values: Sequence[bytes]) -> Bytes32:
    """The root of a list's tree, such as a block's receipts: each value under its place."""
    return tree_root(sorted((rlp.encode(place), value) for place, value in enumerate(values)))


def tree_root(items: Iterable[Item]) -> Bytes32:
    """The root of a tree of these items, which are in the order of their keys; none is empty, none the beginning of
    another's key."""
    found = [(_nibbles(key), value) for key, value in items]
    if not found:
        return EMPTY_ROOT
    return bytes32(keccak256(_node(found, 0, len(found), 0)))


def _node(items: "list[Item]", first: int, end: int, depth: int) -> bytes:
    """The encoded node of the items from ``first`` up to ``end``, whose keys are the same up to ``depth``."""
    low, high = items[first][0], items[end - 1][0]
    if end - first == 1:
        return encode_list(encode_string(_path(low[depth:], leaf=True)) + encode_string(items[first][1]))
    shared = depth
    while low[shared] == high[shared]:
        shared += 1
    if shared > depth:
        path = encode_string(_path(low[depth:shared], leaf=False))
        return encode_list(path + _reference(_node(items, first, end, shared)))
    parts, place = [], first
    for nibble in range(16):
        begin = place
        while place < end and items[place][0][depth] == nibble:
            place += 1
        parts.append(_reference(_node(items, begin, place, depth + 1)) if place > begin else _EMPTY)
    return encode_list(b"".join(parts) + _EMPTY)


def _nibbles(key: bytes) -> bytes:
    return bytes.fromhex("0" + "0".join(key.hex())) if key else b""


def _path(nibbles: bytes, *, leaf: bool) -> bytes:
    """A part of a key with its kind, two nibbles a byte."""
    flag, odd = 2 * leaf, len(nibbles) % 2
    whole = bytes([flag + odd]) + nibbles if odd else bytes([flag, 0]) + nibbles
    return bytes(high << 4 | low for high, low in zip(whole[::2], whole[1::2], strict=True))


def _reference(node: bytes) -> bytes:
    """A node as the one above it holds it: itself where it is short, or its hash."""
    return node if len(node) < 32 else b"\xa0" + keccak256(node)


def encode_string(value: bytes) -> bytes:
    """A string as RLP has it."""
    if len(value) == 1 and value[0] < 0x80:
        return value
    return _length(len(value), 0x80) + value


def encode_list(payload: bytes) -> bytes:
    """A list as RLP has it, of the encodings of its items."""
    return _length(len(payload), 0xC0) + payload


def _length(length: int, kind: int) -> bytes:
    if length < 56:
        return bytes([kind + length])
    digits = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([kind + 55 + len(digits)]) + digits
