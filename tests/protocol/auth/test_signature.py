"""The edges of the accepted form of a plain key's signature: any r and s are somebody's, and whose is computed."""

import secrets

import pytest
from bounty_protocol.auth.signature import parse_private_key, recover
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, address_of
from btclib_libsecp256k1 import recovery as oracle

DIGEST = keccak256(b"something signed")
HALF_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141 // 2


def made_up(s: int, recovery: int) -> tuple[bytes, Address]:
    """r || s with the first r that recovers anybody, and whom."""
    for r in range(1, 200):
        body = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        try:
            key = oracle.recover(DIGEST, body, recovery, compressed=False)
        except ValueError:  # no point has this r
            continue
        return body, address_of(keccak256(key[1:])[12:])
    raise AssertionError("no r found")


@pytest.mark.parametrize("recovery", [0, 1])
def test_s__up_to_half_the_order__counts_and_above_not(recovery: int) -> None:
    body, address = made_up(HALF_ORDER, recovery)
    assert recover(DIGEST, body + bytes([27 + recovery])) == address
    body, _ = made_up(HALF_ORDER + 1, recovery)
    assert recover(DIGEST, body + bytes([27 + recovery])) is None


@pytest.mark.parametrize("recovery", [2, 3])
def test_v_of_29_or_30_counts_for_nobody(recovery: int) -> None:
    body, _ = made_up(HALF_ORDER, recovery)
    assert recover(DIGEST, body + bytes([27 + recovery])) is None


KEY = secrets.token_hex(32)


@pytest.mark.parametrize("text", [KEY, f"0x{KEY}", KEY.upper()], ids=["plain", "prefixed", "upper"])
def test_private_key_is_32_bytes_of_hex(text: str) -> None:
    assert parse_private_key(text) == bytes.fromhex(KEY)


OTHERS = {"short": KEY[:-1], "long": KEY + "0", "letter": KEY[:-1] + "g", "blanks": f"{KEY[:-3]} 1 ", "zero": "00" * 32}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_other_text_is_no_private_key_and_not_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a private key: 32 bytes in hexadecimal digits$"):
        parse_private_key(text)
