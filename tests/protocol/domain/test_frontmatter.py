"""Splitting a document and reading its YAML with strings only."""

import re
from unittest.mock import patch

import pytest
import yaml
from bounty_protocol.domain.challenge import frontmatter
from bounty_protocol.domain.challenge.frontmatter import (
    MAX_FRONTMATTER_BYTES,
    MAX_VALUES,
    FrontmatterError,
    split_document,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.campaign import size


def _refusal(data: bytes) -> tuple[str, str]:
    with pytest.raises(FrontmatterError) as error:
        split_document(data)
    (issue,) = error.value.issues
    return issue.path, issue.message


def test_document__scalars_of_every_look__all_strings() -> None:
    head = b"a: 1\nb: no\nc: null\nd: 0x1F\ne: 2024-01-01\nf: 1.0\ng: ~\nh:\ni: 'q'\nj: 012\nk: !!str\n"
    document = split_document(b"---\n" + head.replace(b"k: !!str\n", b"") + b"---\nbody\n")
    assert document.frontmatter == {
        "a": "1",
        "b": "no",
        "c": "null",
        "d": "0x1F",
        "e": "2024-01-01",
        "f": "1.0",
        "g": "~",
        "h": "",
        "i": "q",
        "j": "012",
    }
    assert document.body == "body\n"


def test_document__lists_and_folded_text__kept() -> None:
    document = split_document(b"---\na:\n  - x\n  - [y, z]\nb: >\n  one\n  two\n---\n\n# T\n---\nrest")
    assert document.frontmatter == {"a": ["x", ["y", "z"]], "b": "one two\n"}
    assert document.body == "\n# T\n---\nrest"


def test_frontmatter_may_end_the_file() -> None:
    assert split_document(b"---\na: b\n---").body == ""


@pytest.mark.parametrize(
    ("data", "path", "said"),
    [
        (b"", "document", "begin"),
        (b"# no frontmatter\n", "document", "begin"),
        (b"---\na: b\n", "frontmatter", "end"),
        (b"---\na: b\n--- \n", "frontmatter", "end"),
        (b"\xef\xbb\xbf---\na: b\n---\n", "document", "byte order mark"),
        (b"---\r\na: b\r\n---\r\n", "document", "carriage return"),
        (b"---\na: b\n---\nbo\x00dy\n", "document", "U+0000"),
        ("---\na: b\n---\nbo\u2028dy\n".encode(), "document", "U+2028"),
        ("---\na: b\n---\nbo\x85dy\n".encode(), "document", "U+0085"),
        (b"---\na: b\n---\n\xff\n", "document", "line 4"),
        (b"---\na: \xed\xa0\x80\n---\n", "document", "UTF-8"),
        (b"---\na: &x b\n---\n", "a", "anchors"),
        (b"---\na: b\nc: *a\n---\n", "c", "anchors"),
        (b"---\n&x a: b\n---\n", "frontmatter", "anchors"),
        (b"---\na: !!int 1\n---\n", "a", "tags"),
        (b"---\na: b\na: c\n---\n", "a", "twice"),
        (b"---\n[a]: b\n---\n", "frontmatter", "plain string"),
        (b"---\n- a\n---\n", "frontmatter", "mapping"),
        (b"---\n---\nbody", "frontmatter", "mapping"),
        (b"---\na: b\n...\nc: d\n---\n", "frontmatter", "documents"),
        (b"---\n%YAML 1.1\na: b\n---\n", "frontmatter", "directives"),
        (b"---\na: b\n--- c\n---\n", "frontmatter", "documents"),
        (b"---\na: [b\n---\n", "frontmatter", "near line"),
        (b"---\na:\n\t- b\n---\n", "frontmatter", "near line"),
        (b"---\na: [[[[b]]]]\n---\n", "a[0][0][0]", "nested"),
        (b"---\na: " + b"[" * 20_000 + b"\n---\n", "a[0][0][0]", "nested"),
        (b"---\na: " + b"x" * MAX_FRONTMATTER_BYTES + b"\n---\n", "frontmatter", "at most"),
        (b"---\na: [" + b"b," * (MAX_VALUES - 2) + b"]\n---\n", "frontmatter", "names and values"),
        (b"---\n" + b"a:\n" * 1_000 + b"---\n", "frontmatter", "names and values"),
        (b"---\na: b\n---\n" + b"x" * 262_144, "document", "at most"),
    ],
)
def test_yaml_outside_the_subset_is_refused(data: bytes, path: str, said: str) -> None:
    found_path, message = _refusal(data)
    assert found_path == path
    assert said in message


def test_most_permitted_values_are_read() -> None:
    found = split_document(b"---\na: [" + b"b," * (MAX_VALUES - 3) + b"]\n---\nbody").frontmatter["a"]
    assert found == ["b"] * (MAX_VALUES - 3)


def test_several_faults_are_each_named() -> None:
    data = b"---\na: &x b\nc: *x\nd: !!int 1\nd: 2\ne: plain\n---\nbody"
    with pytest.raises(FrontmatterError) as error:
        split_document(data)
    assert [issue.path for issue in error.value.issues] == ["a", "c", "d", "d"]
    assert error.value.document is not None
    assert error.value.document.frontmatter["e"] == "plain"
    assert error.value.document.body == "body"


def test_thousands_of_faults_name_a_hundred() -> None:
    with pytest.raises(FrontmatterError) as error:
        split_document(b"---\n" + b"a: b\n" * 900 + b"---\n")
    assert len(error.value.issues) == 100


def test_document__deepest_allowed_nesting__accepted() -> None:
    assert split_document(b"---\na: [[[b]]]\n---\n").frontmatter == {"a": [[["b"]]]}


@given(st.binary(max_size=200))
def test_document__any_bytes__split_or_refused(data: bytes) -> None:
    for candidate in (data, b"---\n" + data, b"---\na: " + data + b"\n---\n"):
        try:
            split_document(candidate)
        except FrontmatterError as error:
            assert error.issues  # either answer is right, any other exception is not


PIECES = st.lists(
    st.sampled_from(
        ["a", "b: ", "c:", "- ", "\n", "\n  ", "\n    ", "'", '"', "[", "]", "{", "}", ",", ":", " ", "#", "|\n", "> ",
         "|-\n", "|1+\n", ">2\n", "&x ", "*x", "!t ", "1", "?", "? ", "\u00e9", "\\", "\\x41", "\\u0041", "%", "@", "`",
         "key: value\n", "~", "-", "\U0001f600", "<<: ", "=", "''", "\n\n", " #c", "\\\n", "\\N", "\\/", "\u200b"]
    ),
    max_size=16,
)  # fmt: skip


def _outcome(data: bytes) -> object:
    """What was read and what was collected about it; which of several faults ends the reading may differ."""
    try:
        return split_document(data).frontmatter
    except FrontmatterError as error:
        return None if error.document is None else (error.document.frontmatter, error.issues)


@settings(max_examples=size(300, 15_000), deadline=None)
@given(PIECES, st.booleans())
def test_libyaml_and_python_read_alike(pieces: list[str], named: bool) -> None:
    data = f"---\n{'a: ' if named else ''}{''.join(pieces)}\n---\n".encode()
    with patch.object(frontmatter, "_LOADER", yaml.SafeLoader):
        expected = _outcome(data)
    found = _outcome(data)
    # libyaml refuses a little more, such as {a:} and a tag with something glued to it. The parser in Python refuses a
    # question mark within the words of a flow collection, such as [Is it so?]; no document has two readings.
    assert found in (expected, None) or (expected is None and re.search(rb"[\[{].*[?]", data, re.DOTALL))


def test_question_in_a_flow_list_is_read_as_yaml() -> None:
    document = split_document(b"---\nacceptance_criteria: [Is it so?, Who? They.]\nmore: {why?: because}\n---\n")
    assert document.frontmatter == {"acceptance_criteria": ["Is it so?", "Who? They."], "more": {"why?": "because"}}


def test_half_an_escaped_letter_is_refused() -> None:
    assert "readable YAML" in _refusal(b'---\na: "\\ud800"\n---\n')[1]
