"""Rubric 4, thresholds: a limit that a criterion sets is not another one in the body.

Only limits on the same noun in the same direction are compared, and only where each side states exactly one.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from service_common.errors import Issue

from service_reviewer.providers.rules.numbers import decimal_of
from service_reviewer.providers.rules.patterns import Pattern
from service_reviewer.providers.rules.reading import Passage, Reading

_LOWER: Final = frozenset({"at least", "more than", "over", "above", "no less than", "≥", ">=", ">"})
_LIMIT: Final = Pattern(
    r"\b(?P<noun>[a-z]{3,40})\s{1,10}(?:of|is|are|be|must be|should be|stays?|has to be)\s{1,10}(?P<direction>at least"
    r"|at most|no more than|no less than|more than|less than|below|under|over|above|up to|≥|≤|>=|<=|<|>)\s{1,10}"
    r"(?P<number>\d(?:[\d,.]{0,40}\d)?)\s?(?P<unit>%|[a-z]{1,40})?",
)

Limit = tuple[str, bool, str]


def find_contradictions(reading: Reading) -> Iterator[Issue]:
    """Limits of the body that contradict a criterion."""
    criteria = _limits(passage for passage in reading.prose if passage.path.startswith("acceptance_criteria"))
    body = _limits(passage for passage in reading.prose if passage.path == "body")
    for limit, stated in body.items():
        required = criteria.get(limit, {})
        if len(stated) == 1 and len(required) == 1 and stated.keys() != required.keys():
            (value, (passage, at)), (wanted, _) = next(iter(stated.items())), next(iter(required.items()))
            yield passage.issue(
                f"Sets the limit for {limit[0]!r} at {value}{limit[2]} where a criterion says {wanted}{limit[2]}. Keep "
                "one of the two.",
                at,
            )


def _limits(passages: Iterable[Passage]) -> dict[Limit, dict[Decimal, tuple[Passage, int]]]:
    limits: dict[Limit, dict[Decimal, tuple[Passage, int]]] = {}
    for passage in passages:
        for found in _LIMIT.each(passage.prose.replace("\n", " ")):
            value = decimal_of(found["number"])
            if value is not None:
                key = (found["noun"].lower(), found["direction"].lower() in _LOWER, found["unit"].lower())
                limits.setdefault(key, {}).setdefault(value, (passage, found.start))
    return limits
