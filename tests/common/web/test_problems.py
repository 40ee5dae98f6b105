"""How errors are written: as many issues as a reader can use, and no word of a library."""

import json
from dataclasses import dataclass

import pytest
from bounty_protocol.errors import MAX_ISSUES, Issue, ServiceError
from service_common.web.parsing import load_json
from service_common.web.problems import envelope


def issues_of(error: ServiceError) -> list[dict[str, str]]:
    body = envelope(error)["error"]
    assert isinstance(body, dict)
    issues: list[dict[str, str]] = body["issues"]
    return issues


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (50, 50), (51, 51), (3_000, 51)])
def test_issues_are_fifty_and_how_many_more(count: int, shown: int) -> None:
    issues = issues_of(
        ServiceError("invalid_request", "No.", issues=[Issue(f"x{n}", "is wrong") for n in range(count)])
    )
    assert len(issues) == shown
    if count > MAX_ISSUES:
        assert issues[-1]["message"].startswith(f"{count - MAX_ISSUES} more ")


@pytest.mark.parametrize(("path", "message"), [("x" * 121, "y"), ("x", "y" * 1_501)])
def test_issue_longer_than_stated_is_a_fault(path: str, message: str) -> None:
    assert Issue(path[:120], message[:1_500])
    with pytest.raises(ValueError, match="too long"):
        Issue(path, message)


@dataclass(frozen=True, slots=True)
class Body:
    name: str
    count: int


@pytest.mark.spec(87, 350)
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, {"name": "is missing", "count": "is missing"}),
        ({"name": 1, "count": "x"}, {"name": "must be a string", "count": "must be a whole number"}),
        ({"name": None, "count": 1.5}, {"name": "must not be null", "count": "must be a whole number"}),
        ({"name": "a", "count": 1, "more": 2}, {"more": "is not a field of this body; remove it"}),
        ({"name": ["a"], "count": True}, {"name": "must be a string", "count": "must be a whole number"}),
    ],
)
def test_body_of_another_shape_is_told_plainly(body: object, said: dict[str, str]) -> None:
    with pytest.raises(ServiceError) as refused:
        load_json(json.dumps(body).encode(), Body, code="invalid_request")
    assert {issue.path: issue.message for issue in refused.value.issues}.items() >= said.items()


@dataclass(frozen=True, slots=True)
class Choice:
    all_bounties: bool
    count: int = 0


@pytest.mark.parametrize("value", ["on", "off", "true", "yes", 1, 0, 1.0, None, [], "1"])
def test_boolean_is_true_or_false_and_nothing_like_it(value: object) -> None:
    assert load_json(b'{"all_bounties": true}', Choice, code="invalid_request") == Choice(all_bounties=True)
    with pytest.raises(ServiceError):
        load_json(json.dumps({"all_bounties": value}).encode(), Choice, code="invalid_request")


def test_number_is_no_boolean() -> None:
    with pytest.raises(ServiceError):
        load_json(b'{"all_bounties": true, "count": true}', Choice, code="invalid_request")


@pytest.mark.parametrize("body", [b'{"count":' + b"9" * 5_000 + b"}", b"\xff", b'{"count":1e999}', b"[" * 5_000, b"{"])
def test_unreadable_body_shows_no_words_of_python(body: bytes) -> None:
    with pytest.raises(ServiceError) as refused:
        load_json(body, Body, code="invalid_request")
    for issue in refused.value.issues:
        assert not {"sys.", "codec", "set_int_max", "Traceback"} & set(issue.message.split())
