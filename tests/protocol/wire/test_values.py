"""What the published document states of a value is what is read."""

import re

import pytest
from bounty_protocol.types import BountyId
from bounty_protocol.wire.values import VALUES, Timestamp
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.spec(39)
@given(st.one_of(st.integers(0, 10**21), st.integers(2**63 - 200, 2**63 + 200)).map(str))
def test_bounty_id_is_read_where_its_pattern_allows_it(text: str) -> None:
    form = VALUES[BountyId]
    assert form.parse is not None
    if re.search(str(form.schema["pattern"]), text):
        assert form.parse(text) == int(text)
    else:
        with pytest.raises(ValueError, match="number"):
            form.parse(text)


@pytest.mark.parametrize("text", ["2026-11-30", "2026-11-30 10:00:00Z", "2026-11-30T10:00:00+01:00", "1796079397"])
def test_timestamp_in_another_form_is_refused(text: str) -> None:
    form = VALUES[Timestamp]
    assert form.parse("2026-11-30T10:00:00Z")
    with pytest.raises(ValueError, match="ISO 8601"):
        form.parse(text)
