"""Signed transactions, against eth-account's."""

from bounty_protocol.chain.transaction import UnsignedTransaction
from bounty_protocol.types import Address, ChainId, Wei, checksum_address
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

uints = st.one_of(st.integers(0, 300), st.integers(0, 2**64 - 2), st.integers(0, 2**128))


@settings(max_examples=200)
@given(
    chain_id=st.integers(1, 2**53), nonce=st.integers(0, 2**64 - 2), tip=uints, fee_cap=uints,
    gas=st.integers(21_000, 2**40), to=st.binary(min_size=20, max_size=20), data=st.binary(max_size=400),
    key=st.integers(1, 2**255),
)  # fmt: skip
def test_signed_transaction_is_the_librarys(
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
