"""docs/challenge-page.md: its example can be published as it stands, and its table is the schema's."""

import re
from pathlib import Path

from bounty_protocol.domain.challenge import (
    MAX_CONTACT,
    MAX_ENTRIES,
    MAX_ENTRY,
    MAX_SUMMARY,
    MAX_TITLE,
    challenge_schema,
    parse_challenge,
)
from bounty_protocol.domain.frontmatter import MAX_DOCUMENT_BYTES, MAX_FRONTMATTER_BYTES
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.times import LEAST_REVEAL_DELAYS
from bounty_protocol.types import UnixSeconds
from service_reviewer.providers.rules import RulesProvider

DOCUMENT = (Path(__file__).parents[2] / "docs/challenge-page.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"(?ms)^```markdown\n(.*?)^```$", DOCUMENT)
DAY = 86_400


def issues(page: str) -> list[str]:
    content = page.encode()
    parsed = parse_challenge(content)
    now = UnixSeconds(parsed.submission_deadline - 10 * DAY)
    return [issue.path for issue in RulesProvider().judge(Material(parsed, content, now, 3_600)).issues]


def test_example__of_the_document__can_be_published_as_it_stands() -> None:
    assert issues(EXAMPLE) == []


def test_table__of_the_example__has_a_row_for_each_field() -> None:
    table = DOCUMENT[DOCUMENT.index("| line |") : DOCUMENT.index("Below the second")]
    rows = dict(re.findall(r"(?m)^\| `(\w+)` \| (.+)", table))
    schema = challenge_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert list(rows) == list(properties), "one row for each field, in the schema's order"
    assert [name for name, text in rows.items() if not text.startswith("optional: ")] == schema["required"]
    assert set(re.findall(r"(?m)^(\w+):", EXAMPLE.split("---\n")[1])) == set(rows)


def test_limits__in_words__are_those_of_the_code() -> None:
    for limit in (MAX_TITLE, MAX_SUMMARY, MAX_ENTRY, MAX_CONTACT, MAX_ENTRIES):
        assert re.search(rf"\b{limit:,}\b", DOCUMENT), limit
    assert f"{MAX_DOCUMENT_BYTES // 1024} KiB" in DOCUMENT
    assert f"{MAX_FRONTMATTER_BYTES // 1024} KiB" in DOCUMENT
    assert LEAST_REVEAL_DELAYS == 3
    assert "three reveal delays" in DOCUMENT


def test_advice__against_each_phrase__is_what_the_rules_object_to() -> None:
    rows = re.findall(r'(?m)^\| "([^"|]+)"(?: in the body)? \|', DOCUMENT)
    assert len(rows) == 8
    for phrase in rows:
        criterion = EXAMPLE.replace("`pip install .` in a fresh virtual environment pulls in no other package.", phrase)
        deliverable = EXAMPLE.replace("tests/ with at least 20 cases, run by pytest", phrase)
        body = EXAMPLE.replace("Style does not matter.", phrase)
        found = [issues(criterion), issues(deliverable), issues(body)]
        assert any(found), phrase
