"""The digest of typed data, against eth-account's."""

from collections.abc import Mapping

import pytest
from bounty_protocol.auth.eip712 import typed_data_digest
from bounty_protocol.auth.signature import sign_digest
from eth_account import Account
from hypothesis import given, settings
from hypothesis import strategies as st

KEY = b"\x42" * 32
DOMAIN = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
    {"name": "verifyingContract", "type": "address"},
]
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
numbers = st.integers(0, 2**256 - 1)
addresses = st.binary(min_size=20, max_size=20).map(lambda data: "0x" + data.hex())
values = {
    "string": texts,
    "uint256": numbers,
    "address": addresses,
    "bytes32": st.binary(min_size=32, max_size=32).map(lambda data: "0x" + data.hex()),
}


@st.composite
def typed(draw: st.DrawFn) -> dict[str, object]:
    kinds = draw(st.lists(st.sampled_from(sorted(values)), min_size=1, max_size=8))
    domain = {
        "name": draw(texts),
        "version": draw(texts),
        "chainId": draw(numbers),
        "verifyingContract": draw(addresses),
    }
    return {
        "types": {"EIP712Domain": DOMAIN, "Thing": [{"name": f"n{i}", "type": kind} for i, kind in enumerate(kinds)]},
        "primaryType": "Thing",
        "domain": domain,
        "message": {f"n{i}": draw(values[kind]) for i, kind in enumerate(kinds)},
    }


@settings(max_examples=200)
@given(typed())
def test_digest_is_what_the_library_signs(data: dict[str, object]) -> None:
    assert sign_digest(typed_data_digest(data), KEY) == Account.sign_typed_data(KEY, full_message=data).signature


def thing(kind: str, value: object) -> Mapping[str, object]:
    return {
        "types": {"EIP712Domain": [{"name": "name", "type": "string"}], "Thing": [{"name": "n", "type": kind}]},
        "primaryType": "Thing",
        "domain": {"name": "Service"},
        "message": {"n": value},
    }


def test_digest_of_a_decimal_text_is_the_integers() -> None:
    assert typed_data_digest(thing("uint256", "7")) == typed_data_digest(thing("uint256", 7))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("uint256", -1),
        ("uint256", 2**256),
        ("uint256", "seven"),
        ("uint256", 1.5),
        ("uint256", True),
        ("uint256", ""),
        ("uint256", "-1"),
        ("uint256", "+7"),
        ("uint256", " 7"),
        ("uint256", "1_0"),
        ("uint256", "007"),
        ("uint256", "0x7"),
        ("uint256", "\N{ARABIC-INDIC DIGIT SEVEN}"),
        ("uint8", 1),
        ("bytes32", "0x" + "11" * 31),
        ("address", "0x" + "11" * 32),
        ("string", 7),
        ("bytes", "0x11"),
        ("string[]", ["a"]),
        ("Other", {"n": 1}),
    ],
)
def test_value_of_another_type_has_no_digest(kind: str, value: object) -> None:
    with pytest.raises((ValueError, OverflowError)):
        typed_data_digest(thing(kind, value))


@pytest.mark.parametrize(("part", "shown"), [("message", {"n": 7, "fee": 8}), ("domain", {"name": "S", "chainId": 1})])
def test_value_without_a_type_has_no_digest(part: str, shown: Mapping[str, object]) -> None:
    with pytest.raises(ValueError, match="not signed"):
        typed_data_digest({**thing("uint256", 7), part: shown})
