"""The one line that says whose sealed work it is."""

from dataclasses import replace

import pytest
from bounty_protocol.domain.binding import Binding, parse_binding, take_comment
from bounty_protocol.domain.canonical_json import MAX_SAFE_INTEGER
from bounty_protocol.types import MAX_INT64, Address, BountyId, ChainId
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.samples import BINDING, POSTER

ADDRESSES = st.binary(min_size=20, max_size=20).map(lambda data: Address("0x" + data.hex()))
BINDINGS = st.builds(
    Binding,
    st.integers(1, MAX_SAFE_INTEGER).map(ChainId),
    ADDRESSES,
    st.integers(1, MAX_INT64).map(BountyId),
    ADDRESSES,
)


@given(BINDINGS)
def test_binding__written_and_read__the_same(binding: Binding) -> None:
    assert parse_binding(binding.text()) == binding


@given(st.text(max_size=3), st.integers(0, 200), st.integers(0, 3))
def test_binding__in_any_other_spelling__refused(inserted: str, place: int, cut: int) -> None:
    text = BINDING.text()
    altered = text[:place] + inserted + text[place + cut :]
    try:
        assert parse_binding(altered).text() == altered
    except ValueError:
        assert altered != text


@pytest.mark.parametrize(
    "changes", [{"chain_id": 0}, {"chain_id": MAX_SAFE_INTEGER + 1}, {"bounty_id": 0}, {"bounty_id": MAX_INT64 + 1}]
)
def test_binding__of_a_number_out_of_range__refused(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_binding(replace(BINDING, **changes).text())  # type: ignore[arg-type]  # on purpose


def test_second_binding_among_comments_is_refused() -> None:
    found = None
    for comment in ("created: today", "", " bounty-escrow:", BINDING.text(), "Bounty-Escrow: x"):
        found = take_comment(found, comment)
    assert found == BINDING
    for second in (BINDING.text(), replace(BINDING, solver_address=POSTER).text(), "bounty-escrow:"):
        with pytest.raises(ValueError, match="twice"):
            take_comment(found, second)
