"""Signed transactions, against eth-account's."""

import rlp as library
from bounty_protocol.chain.transaction import Rlp, UnsignedTransaction, rlp
from bounty_protocol.types import Address, ChainId, Wei, checksum_address
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

KEY = b"\x42" * 32
uints = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 2), st.integers(0, 2**128))


@settings(max_examples=200)
@given(
    chain_id=st.integers(1, 2**53), nonce=st.integers(0, 2**64 - 2), tip=uints, fee_cap=uints,
    gas=st.integers(21_000, 2**40), to=st.binary(min_size=20, max_size=20), data=st.binary(max_size=400),
    key=st.integers(1, 2**255),
)  # fmt: skip
def test_transaction__that_is_signed__is_what_the_library_makes(
    chain_id: int, nonce: int, tip: int, fee_cap: int, gas: int, to: bytes, data: bytes, key: int
) -> None:
    account, secret = Address("0x" + to.hex()), key.to_bytes(32, "big")
    fields = {
        "chainId": chain_id,
        "type": 2,
        "nonce": nonce,
        "to": checksum_address(account),
        "value": 0,
        "data": data,
        "gas": gas,
        "maxFeePerGas": fee_cap,
        "maxPriorityFeePerGas": tip,
    }
    made = UnsignedTransaction(ChainId(chain_id), nonce, Wei(tip), Wei(fee_cap), gas, account, data)
    assert made.signed(secret) == Account.sign_transaction(fields, secret).raw_transaction


nested = st.recursive(st.binary(max_size=70), lambda inner: st.lists(inner, max_size=5), max_leaves=60)


@settings(max_examples=200)
@given(nested)
def test_rlp__of_any_nested_bytes__is_as_by_the_library(value: Rlp) -> None:
    assert rlp(value) == library.encode(value)


def test_rlp__of_long_bytes_and_lists__has_their_length_first() -> None:
    for length in (0, 1, 55, 56, 255, 256, 70_000):
        assert rlp(b"a" * length) == library.encode(b"a" * length)
        assert rlp([b"a"] * length) == library.encode([b"a"] * length)
