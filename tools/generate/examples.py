"""docs/python.md: the whole programs of examples/python, by the first paragraph of their docstrings."""

import ast
from collections.abc import Iterator
from typing import Final

from tools.generate.derived import TOP, part

_FOLDER: Final = "examples/python"


def _table() -> Iterator[str]:
    yield "\n".join(["| program | does |\n|---|---|", *_rows()])


def _rows() -> Iterator[str]:
    for path in sorted((TOP / _FOLDER).glob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        does = " ".join(text.partition("\n\n")[0].split())
        yield f"| [{path.name}](../{_FOLDER}/{path.name}) | {does} |"


PROGRAMS: Final = part("docs/python.md", "programs", _table)
