"""The bounds that attacks try to pass, as a table of ``docs/threat-model.md``.

A test that is marked ``attack`` may state the bound that it tries, made from the constants that set it:
``@pytest.mark.attack(f"envelopes of a Solver …: {MAX_UNRECORDED}")``. ``python -m tests.bounds`` writes the table;
``tests/architecture`` compares.
"""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import pytest

TOP: Final = Path(__file__).parents[1]
PAGE: Final = TOP / "docs" / "threat-model.md"
BEGIN, END = "<!-- bounds: written by python -m tests.bounds -->", "<!-- end of the bounds -->"
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


def table() -> str:
    """The table, between its two marks."""
    stating = [path for path in (TOP / "tests").rglob("test_*.py") if _STATES in path.read_text(encoding="utf-8")]
    stated = _Stated()
    with redirect_stdout(io.StringIO()) as printed:
        code = pytest.main(["--collect-only", "-qq", *map(str, sorted(stating))], plugins=[stated])
    if code != pytest.ExitCode.OK:
        raise RuntimeError(f"the tests that state bounds cannot be collected: {printed.getvalue()}")
    rows = [f"| {bound} | [`{name}`](../{file}) |" for bound, (name, file) in sorted(stated.rows.items())]
    return "\n".join([BEGIN, "", "| bound | tried by |", "|---|---|", *rows, "", END])


def with_table(page: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = page.partition(BEGIN)
    return before + table() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
