"""docs/faq.md: the limits of each network, from the terms with which its Hub is deployed."""

from collections.abc import Callable, Iterator
from typing import Final

from hub_operations.networks import TERMS, HubTerms

from tools.generate.derived import part, table

_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_ROWS: Final[tuple[tuple[str, Callable[[HubTerms], str]], ...]] = (
    ("smallest escrow, in USDC", lambda terms: f"{terms.min_escrow / 10**6:g}"),
    ("time for Submissions", lambda terms: _span(terms.min_submission_window, terms.max_submission_window)),
    ("from the deadline to the reveal point", lambda terms: time_of(terms.reveal_delay)),
    ("time for judging", lambda terms: _span(terms.min_judging_window, terms.max_judging_window)),
    ("until another roster takes effect", lambda terms: time_of(terms.publication_delay)),
)


def time_of(seconds: int) -> str:
    """A time in the largest unit of which it is whole ones: `13 hours`."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return f"{seconds // size} {unit}{'s' if seconds != size else ''}"


def _span(least: int, most: int) -> str:
    return f"{time_of(least)} to {time_of(most)}"


def _table() -> Iterator[str]:
    shown = [TERMS["mainnet"], TERMS["staging"]]
    rows = (f"| {name} | {' | '.join(map(of, shown))} |" for name, of in _ROWS)
    yield table("| | mainnet (Base) | staging (Base Sepolia) |", rows)


NETWORKS: Final = part("docs/faq.md", "networks", _table)
