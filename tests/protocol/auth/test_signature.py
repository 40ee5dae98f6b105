"""The edges of the accepted form of a plain key's signature: any r and s are somebody's, and whose is computed."""

import pytest
from bounty_protocol.auth.signature import account_of_key, recover, sign_digest
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, address_of
from btclib_libsecp256k1 import recovery as oracle
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

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


@settings(max_examples=50)
@given(st.integers(1, HALF_ORDER * 2))
def test_account_of_a_key_signs_with_it(number: int) -> None:
    key = number.to_bytes(32, "big")
    assert account_of_key(key) == Account.from_key(key).address.lower()


@settings(max_examples=50)
@given(st.integers(1, HALF_ORDER * 2), st.binary(min_size=32, max_size=32))
def test_signature_has_the_accepted_form(number: int, digest: bytes) -> None:
    key = number.to_bytes(32, "big")
    assert recover(digest, sign_digest(digest, key)) == account_of_key(key)


@pytest.mark.parametrize("number", [0, HALF_ORDER * 2 + 1, 2**256 - 1])
def test_number_that_is_no_key_has_no_account(number: int) -> None:
    with pytest.raises(ValueError):
        account_of_key(number.to_bytes(32, "big"))
