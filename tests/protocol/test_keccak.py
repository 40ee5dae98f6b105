"""Keccak-256: known digests, and a second implementation."""

import pytest
from bounty_protocol.keccak import keccak256
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

KNOWN = {
    b"": "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
    b"abc": "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
    b"Transfer(address,address,uint256)": "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
    b"a" * 135: "34367dc248bbd832f4e3e69dfaac2f92638bd0bbd18f2912ba4ef454919cf446",
    b"a" * 136: "a6c4d403279fe3e0af03729caada8374b5ca54d8065329a3ebcaeb4b60aa386e",
    b"a" * 137: "d869f639c7046b4929fc92a4d988a8b22c55fbadb802c0c66ebcd484f1915f39",
}
"""The last three are one byte short of a block of the sponge, a whole block, and one byte more."""


@pytest.mark.parametrize("data", KNOWN, ids=lambda data: f"{len(data)} bytes")
def test_keccak256__known_input__known_digest(data: bytes) -> None:
    assert keccak256(data).hex() == KNOWN[data]


@given(st.binary(max_size=600))
def test_keccak256_is_another_implementations(data: bytes) -> None:
    assert keccak256(data) == keccak(data)
