"""RFC 8785, written and read back."""

import pytest
from bounty_protocol.domain.envelope.canonical_json import MAX_SAFE_INTEGER, canonical_bytes, parse_canonical
from hypothesis import given
from hypothesis import strategies as st

values = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_canonical_value_reads_back(value: object) -> None:
    data = canonical_bytes(value)
    assert parse_canonical(data, 1_000_000) == value
    assert canonical_bytes(parse_canonical(data, 1_000_000)) == data


def test_value__keys__sorted_by_utf16_code_units() -> None:
    assert canonical_bytes({"\ufb33": 1, "\U0001f600": 2, "a": 3}) == '{"a":3,"\U0001f600":2,"\ufb33":1}'.encode()


@pytest.mark.spec(89)
def test_float_or_large_integer_has_no_form() -> None:
    with pytest.raises(ValueError, match="canonical"):
        canonical_bytes({"a": MAX_SAFE_INTEGER + 1})
    with pytest.raises(ValueError, match="canonical"):
        canonical_bytes({"a": float("nan")})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"a":' + b"9" * 5_000 + b"}", r"^integers must lie between"),
        (b'\xef\xbb\xbf{"a":1}', "not JSON"),
        (b'{"a":"\\ud800"}', "^the value has no canonical JSON form$"),
        (b'{"\\ud800":1,"a":1}', "^the value has no canonical JSON form$"),
        (b"[" * 40_000, "nested too deeply"),
        (b"[" * 5_000 + b"]" * 5_000, r"."),
        (b'"' + b"x" * 70_000 + b'"', "larger"),
    ],
)
def test_bytes__in_any_other_form__refused(data: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_canonical(data, 65_536)
