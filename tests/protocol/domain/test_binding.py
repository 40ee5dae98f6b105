"""The one line that says whose sealed work it is."""

from bounty_protocol.domain.envelope.binding import Binding, parse_binding
from bounty_protocol.domain.envelope.canonical_json import MAX_SAFE_INTEGER
from bounty_protocol.types import MAX_INT64, Address, BountyId, ChainId
from hypothesis import given
from hypothesis import strategies as st

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
