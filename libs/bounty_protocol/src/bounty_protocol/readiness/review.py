"""All rules over one page.

The same page at the same moment gets the same issues, each with where and what to change. They judge form and clarity,
never merit; what they cannot see (a vague criterion, a missing attachment, a contradiction) is left to readers.
"""

from itertools import chain
from typing import Final

from bounty_protocol.errors import MAX_ISSUES, Issue
from bounty_protocol.readiness.credentials import CREDENTIALS
from bounty_protocol.readiness.leftovers import LEFTOVERS
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.reading import MAX_LINES_AND_CELLS, MAX_PASSAGES, Reading, lines_and_cells
from bounty_protocol.readiness.rule import Rule
from bounty_protocol.readiness.steering import STEERING
from bounty_protocol.readiness.terms import PAYMENT
from bounty_protocol.readiness.times import TIMES

_TOO_MANY_PARTS: Final = Issue(
    "body",
    f"Consists of more than {MAX_PASSAGES:,} paragraphs, headings, list entries and table cells. Join what belongs "
    "together, so that a person can read the whole page.",
)

RULES: Final[tuple[Rule, ...]] = (TIMES, PAYMENT, LEFTOVERS, STEERING, CREDENTIALS)
"""In the order of their issues; the last one's come first."""


def review(material: Material) -> tuple[Issue, ...]:
    """Return all issues at once, at most ``MAX_ISSUES``, in time that grows with the page's length."""
    reading = None if lines_and_cells(material.page.body) > MAX_LINES_AND_CELLS else Reading.of(material)
    if reading is None or len(reading.passages) > MAX_PASSAGES:
        return (_TOO_MANY_PARTS,)
    issues = dict.fromkeys(list(CREDENTIALS.check(reading))[:MAX_ISSUES])
    for issue in chain.from_iterable(rule.check(reading) for rule in RULES if rule is not CREDENTIALS):
        if len(issues) == MAX_ISSUES:
            break
        issues[issue] = None
    return tuple(issues)
