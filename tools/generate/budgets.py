"""docs/interface.md: the budgets of callers, from their defaults and what the code states of each."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from typing import Final

from service_api.config import ApiBudgets
from service_common.budgets import Budget
from service_common.web.callers import CallerBudgets

from tools.generate.derived import part
from tools.generate.networks import time_of

_OF_ADDRESS: Final = "_of_address"
_WITHOUT: Final = "Of all accounts behind a network address: the same."
"""What a budget is for that only has its account's beside it."""


def _table() -> Iterator[str]:
    yield "\n".join(["| budget | amount | in | |\n|---|---|---|---|", *_rows()])


def _rows() -> Iterator[str]:
    stated = _stated(CallerBudgets) | _stated(ApiBudgets)
    budgets = ApiBudgets()
    for each in fields(budgets):
        budget: Budget = getattr(budgets, each.name)
        text = stated.get(each.name, _WITHOUT if each.name.endswith(_OF_ADDRESS) else "")
        text = text.partition("\n\n")[0].rstrip(".")
        text = text[:1].lower() + text[1:]
        yield f"| `{budget.name}` | {budget.amount:,} | {time_of(budget.seconds)} | {text} |"


def _stated(kind: type) -> dict[str, str]:
    """The text below each attribute of a class."""
    lines = next(each.body for each in ast.walk(ast.parse(inspect.getsource(kind))) if isinstance(each, ast.ClassDef))
    found = {}
    for attribute, text in pairwise(lines):
        if isinstance(attribute, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[ast.unparse(attribute.target)] = " ".join(str(text.value.value).split())
    return found


CALLERS: Final = part("docs/interface.md", "budgets", _table)
