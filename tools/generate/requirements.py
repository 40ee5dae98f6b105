"""docs/checker.md: what the checker requires, as a difference names it."""

from collections.abc import Iterator
from typing import Final

from service_checker.report import REQUIREMENTS

from tools.generate.derived import part, table


def _table() -> Iterator[str]:
    rows = (f"| `{name}` | {holds} |" for name, holds in REQUIREMENTS.items())
    yield table("| requirement | what holds |", rows)


CHECKED: Final = part("docs/checker.md", "requirements", _table)
