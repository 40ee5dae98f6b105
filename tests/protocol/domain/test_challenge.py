"""The challenge page's frontmatter."""

import re
from dataclasses import replace

import pytest
from bounty_protocol.domain.challenge.frontmatter import split_document
from bounty_protocol.domain.challenge.page import challenge_schema, parse_challenge
from bounty_protocol.domain.lifecycle.bounty import term_differences
from bounty_protocol.domain.lifecycle.hub_events import BountyTerms
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ZERO_BYTES32, RosterVersion, TokenAmount, UnixSeconds

from tests.vectors.samples import COMPLETE_PAGE, PAGE, POSTER


def _issues(page: bytes) -> dict[str, str]:
    with pytest.raises(ServiceError) as refusal:
        parse_challenge(page)
    assert refusal.value.code == "invalid_bounty_challenge"
    assert refusal.value.status == 400
    return {issue.path: issue.message for issue in refusal.value.issues}


def _with(old: bytes, new: bytes) -> bytes:
    assert old in PAGE
    return PAGE.replace(old, new)


def test_page_has_its_tags_in_order() -> None:
    assert parse_challenge(COMPLETE_PAGE).tags == ("parser", "csv")
    assert parse_challenge(PAGE).tags == ()
    most = b"tags:\n" + b"".join(b"  - %d%s\n" % (number, b"a" * 29) for number in range(5))
    assert len(parse_challenge(_with(b"language: en\n", most)).tags) == 5


@pytest.mark.spec(37, 50)
def test_page__complete__every_field_read() -> None:
    page = parse_challenge(PAGE)
    assert page.title == "Halve the size of our tile set"
    assert (page.escrow_amount, page.submission_deadline, page.judging_window_seconds) == (
        250_000_000,
        1_900_000_000,
        259_200,
    )
    assert len(page.acceptance_criteria) == 2
    assert len(page.deliverables) == 1
    assert (page.language, page.contact) == ("en", "tiles@example.org")
    assert page.body.startswith("# The tile set")


def test_page__without_the_optional_fields__accepted() -> None:
    page = parse_challenge(_with(b"language: en\ncontact: tiles@example.org\n", b""))
    assert (page.language, page.contact) == (None, None)


def test_faults_of_yaml_and_fields_come_together() -> None:
    page = (
        _with(b'"250000000"', b"2.5").replace(b"title: Halve", b"title: &x Halve").replace(b"version: 1", b"version: 3")
    )
    page = page.replace(b"language: en", b"language: en\nlanguage: de")
    assert set(_issues(page)) == {"escrow_amount", "title", "version", "language"}


@pytest.mark.spec(351, 385)
def test_page__long_unknown_key__path_cut_to_the_limit() -> None:
    issues = _issues(_with(b"contact:", b"k" * 120 + b"zz:"))
    assert max(len(path) for path in issues) == 120


def test_schema_and_parser_agree() -> None:
    schema = challenge_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    frontmatter = split_document(COMPLETE_PAGE).frontmatter
    assert set(properties) == set(frontmatter), "COMPLETE_PAGE of tests/vectors/samples.py has every field"
    assert parse_challenge(COMPLETE_PAGE)
    for name, value in frontmatter.items():
        pattern = properties[name].get("pattern")
        if pattern is not None:
            assert isinstance(value, str)
            assert re.search(pattern, value), name
    assert not re.search(properties["escrow_amount"]["pattern"], "0250")


@pytest.mark.parametrize("name", split_document(COMPLETE_PAGE).frontmatter)
def test_missing_field_is_refused_if_required(name: str) -> None:
    page, removed = re.subn(rf"(?m)^{name}:.*\n( +.*\n)*", "", COMPLETE_PAGE.decode(), count=1)
    assert removed == 1
    required = challenge_schema()["required"]
    assert isinstance(required, list)
    if name in required:
        assert _issues(page.encode()) == {name: "is missing"}
    else:
        assert getattr(parse_challenge(page.encode()), name) in (None, ())


def test_terms_that_differ_show_both_values() -> None:
    page = parse_challenge(PAGE)
    terms = BountyTerms(
        poster=POSTER,
        spec_commitment=ZERO_BYTES32,
        guardian_roster_hash=ZERO_BYTES32,
        roster_version=RosterVersion(1),
        escrow_amount=TokenAmount(250_000_000),
        submission_deadline=UnixSeconds(1_900_000_000),
        reveal_at=UnixSeconds(1_900_000_300),
        judging_deadline=UnixSeconds(1_900_259_500),
        protocol_fee=TokenAmount(0),
        guardian_fee=TokenAmount(0),
        protocol_fee_recipient=POSTER,
    )
    assert term_differences(page, terms) == ()
    (difference,) = term_differences(page, replace(terms, submission_deadline=UnixSeconds(1_900_000_001)))
    assert (difference.field, difference.page, difference.chain) == (
        "submission_deadline",
        "1900000000",
        "1900000001",
    )


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("escrow_amount", "25 USDC", "escrow_amount: 25000000"),
        ("escrow_amount", "25.00", "escrow_amount: 25000000"),
        ("submission_deadline", "2027-01-31T18:00Z", "submission_deadline: 1801418400"),
        ("judging_window_seconds", "3 days", "judging_window_seconds: 259200"),
    ],
)
def test_human_value_is_answered_with_the_line(name: str, value: str, line: str) -> None:
    good = re.search(rf"^{name}: .*$", PAGE.decode(), re.MULTILINE)
    assert good is not None
    page = PAGE.decode().replace(good[0], f"{name}: {value}").encode()
    (found,) = _issues(page).items()
    assert (found[0], found[1].endswith(f"write: {line}")) == (name, True)
    assert parse_challenge(page.replace(f"{name}: {value}".encode(), line.encode()))


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("escrow", "escrow_amount"),
        ("Submission-Deadline", "submission_deadline"),
        ("acceptance_criterias", "acceptance_criteria"),
    ],
)
def test_misspelt_key_is_answered_with_the_right_one(wrong: str, right: str) -> None:
    found = _issues(PAGE.replace(f"\n{right}:".encode(), f"\n{wrong}:".encode()))
    assert found[right] == "is missing"
    assert found[wrong].endswith(f"did you mean {right}?")
