"""docs/threat-model.md: the bounds that attacks try to pass, as a table.

A test that is marked ``attack`` may state the bound that it tries, made from the constants that set it:
``@pytest.mark.attack(f"envelopes of a Solver …: {MAX_UNRECORDED}")``.
"""

import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Final

import pytest

from tools.generate.derived import TOP, part, table

_STATES = "mark.attack("


class _Stated:
    """Collects the stated bounds instead of running what states them."""

    def __init__(self) -> None:
        self.rows = dict[str, tuple[str, str]]()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note each bound with its test's name and file."""
        for item in session.items:
            for mark in item.iter_markers("attack"):
                for bound in mark.args:
                    name = item.nodeid.rpartition("::")[2].partition("[")[0]
                    self.rows[str(bound)] = (name, item.nodeid.partition("::")[0])


def _table() -> Iterator[str]:
    stating = [path for path in (TOP / "tests").rglob("test_*.py") if _STATES in path.read_text(encoding="utf-8")]
    stated = _Stated()
    with redirect_stdout(io.StringIO()) as printed:
        code = pytest.main(["--collect-only", "-qq", *map(str, sorted(stating))], plugins=[stated])
    if code != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests that state bounds cannot be collected: {printed.getvalue()}")
    rows = [f"| {bound} | [`{name}`](../{file}) |" for bound, (name, file) in sorted(stated.rows.items())]
    yield table("| bound | tried by |", rows)


BOUNDS: Final = part("docs/threat-model.md", "bounds", _table)
