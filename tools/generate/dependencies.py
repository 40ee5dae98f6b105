"""docs/dependencies.md: what each dependency is for, why this one, and what would replace it."""

import tomllib
from collections.abc import Iterator
from typing import Final

from tools.generate.derived import TOP, part, table

REASONS: Final = TOP / "requirements/reasons.toml"
_COLUMNS: Final = ("packages", "for", "why", "instead")


def reasons() -> list[dict[str, str]]:
    """The reasons in their order, each by the names of its columns."""
    found: list[dict[str, str]] = tomllib.loads(REASONS.read_text(encoding="utf-8"))["dependency"]
    return found


def _table() -> Iterator[str]:
    rows = (f"| {' | '.join(each[column] for column in _COLUMNS)} |" for each in reasons())
    yield table("| package | for | why this one | instead |", rows)


DEPENDENCIES: Final = part("docs/dependencies.md", "dependencies", _table)
