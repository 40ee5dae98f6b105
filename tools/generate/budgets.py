"""docs/interface.md: the budgets of callers, from their defaults and what the code states of each."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from service_api.config import ApiBudgets
from service_common.budgets import Budget
from service_common.web.callers import CallerBudgets

from tools.generate.attributes import as_cell, attribute_texts
from tools.generate.derived import part, table

_OF_ADDRESS: Final = "_of_address"
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_WITHOUT: Final = "Of all accounts behind a network address: the same."
"""What a budget is for that only has its account's beside it."""


def time_of(seconds: int) -> str:
    """A time in the largest unit of which it is whole ones: `13 hours`."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return f"{seconds // size} {unit}{'s' if seconds != size else ''}"


def _table() -> Iterator[str]:
    yield table("| budget | amount | in | |", _rows())


def _rows() -> Iterator[str]:
    stated = attribute_texts(CallerBudgets) | attribute_texts(ApiBudgets)
    budgets = ApiBudgets()
    for each in fields(budgets):
        budget: Budget = getattr(budgets, each.name)
        text = stated.get(each.name, _WITHOUT if each.name.endswith(_OF_ADDRESS) else "")
        yield f"| `{budget.name}` | {budget.amount:,} | {time_of(budget.seconds)} | {as_cell(text)} |"


CALLERS: Final = part("docs/interface.md", "budgets", _table)
