"""Bech32 (BIP 173) as age uses it for keys: any length, one letter case, checksum constant 1.

``decode`` accepts exactly what ``encode`` writes, in any letter case, and raises ``ValueError`` for the rest; a caller
refuses the letter case that its kind of key is not written in.
"""

from collections.abc import Iterable
from typing import Final

_CHARSET: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_GENERATOR: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def encode(prefix: str, data: bytes) -> str:
    """Encode ``data`` under a lower-case human-readable prefix, in lower case."""
    values = _regroup(data, 8, 5, pad=True)
    checksum = _polymod([*_expand(prefix), *values, 0, 0, 0, 0, 0, 0]) ^ 1
    values += [(checksum >> 5 * (5 - position)) & 31 for position in range(6)]
    return prefix + "1" + "".join(_CHARSET[value] for value in values)


def decode(prefix: str, text: str) -> bytes:
    """Decode an encoding under this prefix."""
    head, separator, tail = text.lower().rpartition("1")
    if not separator or head != prefix.lower():
        raise ValueError("another kind of key")
    if len(tail) < 6 or any(letter not in _CHARSET for letter in tail):
        raise ValueError("not bech32")
    values = [_CHARSET.index(letter) for letter in tail]
    if _polymod([*_expand(head), *values]) != 1:
        raise ValueError("a mistyped key: the checksum does not match")
    return bytes(_regroup(values[:-6], 5, 8, pad=False))


def _expand(prefix: str) -> list[int]:
    codes = [ord(letter) for letter in prefix]
    return [code >> 5 for code in codes] + [0] + [code & 31 for code in codes]


def _polymod(values: Iterable[int]) -> int:
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            checksum ^= generator if (top >> bit) & 1 else 0
    return checksum


def _regroup(values: Iterable[int], width: int, wanted: int, *, pad: bool) -> list[int]:
    """Turn groups of ``width`` bits into groups of ``wanted`` bits; without ``pad`` the spare bits must be zero."""
    bits, count, groups = 0, 0, []
    for value in values:
        bits, count = bits << width | value, count + width
        while count >= wanted:
            count -= wanted
            groups.append(bits >> count & (1 << wanted) - 1)
        bits &= (1 << count) - 1
    if pad and count:
        groups.append(bits << wanted - count)
    elif not pad and (count >= width or bits):
        raise ValueError("spare bits that are not zero")
    return groups
