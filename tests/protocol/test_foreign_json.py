"""JSON of somebody else: as many values as are taken, and one more."""

import json

import pytest
from bounty_protocol.foreign_json import MOST_NESTED, TooManyValues, read_json, read_object


@pytest.mark.parametrize(
    ("text", "most"),
    [(b"[1,2,3]", 3), (b'{"a":[],"b":{}}', 4), (b'"a, [b]"', 2), (b"7", 0), (b"[" * 50 + b"]" * 50, 50)],
)
def test_json_of_too_many_values_is_not_read(text: bytes, most: int) -> None:
    read_json(text, most)
    if most:
        with pytest.raises(TooManyValues):
            read_json(text, most - 1)


@pytest.mark.parametrize(("opens", "closes"), [(b"[", b"]"), (b'{"]":', b"}"), (b'["\\"]",', b"]")])
def test_json_of_too_many_levels_is_not_read(opens: bytes, closes: bytes) -> None:
    read_json(opens * MOST_NESTED + b"1" + closes * MOST_NESTED)
    for levels in (MOST_NESTED + 1, 40_000):
        with pytest.raises(ValueError, match="levels"):
            read_json(opens * levels + b"1" + closes * levels)


def test_many_brackets_in_few_levels_are_read() -> None:
    value = [{"a": "[[{{", "b": [["]"], {"c": '\\"['}]}] * 1_000
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize("unit", [b'"\\', b'"', b"\\", b"[]", b'"[', b"\\\\"])
def test_endless_string_is_refused_in_linear_time(unit: bytes) -> None:
    for text in (unit * 20_000, b"[" * 65 + unit * 20_000, b"[" * 65 + b'"' + unit * 20_000 + b"\\"):
        with pytest.raises(ValueError):  # the library's own words
            read_json(text)


@pytest.mark.parametrize("levels", [1, 3_000])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32-be"])
def test_nested_text_that_is_not_utf8_is_refused(encoding: str, levels: int) -> None:
    with pytest.raises(ValueError):  # the library's own words
        read_json(('["\u2200", ' + "[" * levels + "]" * levels + "]").encode(encoding))


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"1 2"])
def test_text__that_is_no_json__is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):  # the library's own words
        read_json(text)


def test_object__with_text_of_every_kind__is_read() -> None:
    text = b'{"a": "\\ud83d\\ude00", "b": ["\xc3\xa9"], "c": 1}'
    assert read_object(text) == {"a": "\U0001f600", "b": ["\u00e9"], "c": 1}


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"null",
        b'{"a": "\\ud83d"}',
        b'{"\\ude00": 1}',
        b'{"a": "\xed\xa0\xbd"}',
        '{"a": "\\ud83d"}'.encode("utf-16"),
    ],
)
def test_object_with_half_a_letter_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):  # the library's own words
        read_object(text)
