"""The reasons of a Verdict as text: what their template holds, what is refused, and what looks like a mistake."""

from dataclasses import replace

import pytest
from bounty_protocol.domain.challenge import parse_challenge
from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.types import BountyId, parse_address, parse_bytes32
from service_cli.errors import CommandRefused
from service_cli.work.reasons import doubt_of, filled_in, reasons_of, template

from tests.cli.ledger import Ledger

NAMED = (parse_address("0x" + "ab" * 20), parse_bytes32("0x" + "cd" * 32))
EMPTY = template(BountyId(7), VerdictKind.NO_VALID_SUBMISSION, None, None)


def test_template__of_what_a_poster_wrote__quotes_it_bounded_and_plain(ledger: Ledger) -> None:
    page = replace(
        parse_challenge(ledger.page()), acceptance_criteria=("one\n<!-- two -->\u202e", "x" * 2_000), deliverables=()
    )
    lines = template(BountyId(7), VerdictKind.AWARDED, NAMED, page).splitlines()
    assert "> <!-- two -->[U+202E]" in lines
    assert max(map(len, lines)) < 500
    assert not any("\u202e" in line for line in lines)


@pytest.mark.parametrize("text", ["", " \n\n", EMPTY, "<!-- service-cli: x -->\n", EMPTY + "\nMore.\n"])
def test_reasons__that_are_empty_or_not_filled_in__are_refused(text: str) -> None:
    with pytest.raises(CommandRefused) as refused:
        reasons_of(text)
    assert refused.value.code == "reasons_unfinished"


def test_reasons__filled_in__are_without_the_comment_and_a_file_of_one_s_own_is_its_bytes() -> None:
    filled = EMPTY.replace("<Why this Verdict follows, in a sentence or two.>", "Nothing fits.")
    assert reasons_of(filled) == "# Bounty 7: no_valid_submission\n\n## Result\n\nNothing fits.\n"
    assert filled_in(b"  <Mine>\r\n") == b"  <Mine>\r\n"


def test_reasons__begun_as_a_template_and_saved_as_latin_1__are_refused() -> None:
    """Each such letter was recorded as U+FFFD, for good."""
    with pytest.raises(CommandRefused) as refused:
        filled_in(b"<!-- service-cli: x -->\n\nThe naming is bad: na\xefve.\n")
    assert refused.value.code == "verdict_body_malformed"


@pytest.mark.parametrize(
    ("reasons", "problem"),
    [
        ("<html><body>It holds.</body></html>\n", "are HTML"),
        ("  <!DOCTYPE html>\n<p>It holds.</p>\n", "are HTML"),
        ("- 1.\n- 2.\n", "hold no word"),
        ("It holds, since 1 < 2.\n", None),
        ("住所は正しい。\n", None),
        ("Wraps its text in <b>bold</b>.\n", None),
    ],
)
def test_reasons__that_look_like_a_mistake__are_asked_for(reasons: str, problem: str | None) -> None:
    assert (doubt_of(reasons) or "").startswith(problem or "")
    assert (doubt_of(reasons) is None) is (problem is None)
