"""The terms in ABI order and as printed arguments."""

import pytest
from bounty_protocol.domain.terms import TERMS_TYPES, Terms
from bounty_protocol.types import MAX_INT64, MAX_UINT256, Bytes32, TokenAmount, UnixSeconds
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.samples import TERMS, word

amounts = st.integers(0, MAX_UINT256).map(TokenAmount)
words = st.binary(min_size=32, max_size=32).map(lambda data: Bytes32("0x" + data.hex()))


@given(
    st.builds(
        Terms,
        words,
        words,
        amounts,
        st.integers(0, MAX_INT64).map(UnixSeconds),
        st.integers(0, MAX_UINT256),
        amounts,
        amounts,
        words,
    )
)
def test_terms__printed_and_read__the_same(terms: Terms) -> None:
    assert Terms.from_args(terms.to_args()) == terms
    assert len(terms.as_tuple()) == len(TERMS_TYPES)


def test_terms_as_args_are_in_the_structs_order() -> None:
    assert TERMS.to_args() == [
        word("spec"),
        TERMS.expected_roster_hash,
        "250000000",
        "1900000000",
        "259200",
        "2500000",
        "12500000",
        word("salt"),
    ]


@pytest.mark.parametrize(
    ("index", "value"),
    [(0, "0x12"), (2, "-1"), (2, 250_000_000), (2, "0250"), (3, str(2**63)), (4, "1.5"), (7, None)],
)
def test_terms__an_argument_of_another_form__refused(index: int, value: object) -> None:
    args: list[object] = list(TERMS.to_args())
    args[index] = value
    with pytest.raises(ValueError, match=r"."):
        Terms.from_args(args)


def test_terms__seven_arguments__refused() -> None:
    with pytest.raises(ValueError, match="eight"):
        Terms.from_args(TERMS.to_args()[:-1])
