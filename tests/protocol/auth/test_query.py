"""The canonical query is what URLSearchParams serializes."""

from bounty_protocol.auth.query import canonical_query
from hypothesis import given
from hypothesis import strategies as st


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), max_size=60))
def test_canonical_query__of_itself__is_itself(raw: str) -> None:
    assert canonical_query(canonical_query(raw)) == canonical_query(raw)
