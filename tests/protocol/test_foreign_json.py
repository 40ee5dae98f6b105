"""JSON of somebody else: as many values as are taken, and one more."""

import pytest
from bounty_protocol.foreign_json import TooManyValues, read_json


@pytest.mark.attack
@pytest.mark.parametrize(
    ("text", "most"),
    [(b"[1,2,3]", 3), (b'{"a":[],"b":{}}', 4), (b'"a, [b]"', 2), (b"7", 0), (b"[" * 50 + b"]" * 50, 50)],
)
def test_text__of_more_values_than_are_taken__is_not_read(text: bytes, most: int) -> None:
    read_json(text, most)
    if most:
        with pytest.raises(TooManyValues):
            read_json(text, most - 1)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"1 2"])
def test_text__that_is_no_json__is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):  # the library's own words
        read_json(text)
