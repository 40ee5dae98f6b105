"""Examples on pages: the programs of examples/python by their docstrings, and whole files as they are."""

import ast
from collections.abc import Iterator
from itertools import dropwhile, takewhile
from typing import Final

from tools.generate.derived import TOP, part, table

_FOLDER: Final = "examples/python"
_QUERIES: Final = ("how_far", "open_bounties", "judged_by_a_guardian", "awarded", "rosters_and_keys", "one_bounty")
"""Files of examples/graphql, whose first comment is what the page says of each."""


def _table() -> Iterator[str]:
    yield table("| program | does |", _rows())


def _rows() -> Iterator[str]:
    for path in sorted((TOP / _FOLDER).glob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        does = " ".join(text.partition("\n\n")[0].split())
        yield f"| [{path.name}](../{_FOLDER}/{path.name}) | {does} |"


def whole_file(path: str, language: str) -> str:
    """Return a file of the repository as a block of code."""
    return f"```{language}\n{(TOP / path).read_text(encoding='utf-8')}```"


def _queries() -> Iterator[str]:
    for name in _QUERIES:
        lines = (TOP / f"examples/graphql/{name}.graphql").read_text(encoding="utf-8").splitlines()
        code = list(dropwhile(_is_comment, lines))
        yield "\n".join(line.removeprefix("# ") for line in takewhile(_is_comment, lines))
        yield "\n".join(["```graphql", *code, "```"])


def _is_comment(line: str) -> bool:
    return line.startswith("#")


def _opening() -> Iterator[str]:
    yield whole_file("examples/by_hand/open_submission.sh", "sh")


def _sealing() -> Iterator[str]:
    yield whole_file("examples/by_hand/seal_submission.sh", "sh")


OPENING: Final = part("docs/formats.md", "open-submission", _opening)
SEALING: Final = part("docs/formats.md", "seal-submission", _sealing)
QUERIES: Final = part("docs/subgraph.md", "queries", _queries)
PROGRAMS: Final = part("docs/python.md", "programs", _table)
