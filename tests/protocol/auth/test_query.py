"""The canonical query is what URLSearchParams serializes."""

import pytest
from bounty_protocol.auth.query import canonical_query
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.spec(299, 300)
@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ("", ""),
        ("mine", "mine="),
        ("mine=", "mine="),
        ("a=b&c=d", "a=b&c=d"),
        ("c=d&a=b", "c=d&a=b"),
        ("a=1&a=2", "a=1&a=2"),
        ("&&a=b&", "a=b"),
        ("a=b=c", "a=b%3Dc"),
        ("=x", "=x"),
        ("a=b+c", "a=b+c"),
        ("a=b%20c", "a=b+c"),
        ("a=%2B", "a=%2B"),
        ("a=~", "a=%7E"),
        ("a=*-._", "a=*-._"),
        ("a=%C3%A9", "a=%C3%A9"),
        ("a=%c3%a9", "a=%C3%A9"),
        ("a=%FF", "a=%EF%BF%BD"),
        ("a=%", "a=%25"),
        ("a=%zz", "a=%25zz"),
        ("a='(!)", "a=%27%28%21%29"),
        ("?a=b", "%3Fa=b"),
    ],
)
def test_canonical_query__of_a_raw_query__is_the_browsers(raw: str, canonical: str) -> None:
    assert canonical_query(raw) == canonical


@pytest.mark.parametrize("raw", ["a=é", "a=\x00", "a=b c", "a=\x7f"])
def test_canonical_query__of_raw_text_outside_printable_ascii__is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="ASCII"):
        canonical_query(raw)


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), max_size=60))
def test_canonical_query__of_itself__is_itself(raw: str) -> None:
    assert canonical_query(canonical_query(raw)) == canonical_query(raw)
