"""docs/specification.md: each statement of the interface specification, with the tests that show it or the ADR.

The statements are in tests/specification.toml. A test that shows some is marked ``@pytest.mark.spec(12, 13)``; the
marks are read from the source, so that nothing is imported or run.
"""

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.generate.derived import TOP, part

_STATEMENTS: Final = TOP / "tests/specification.toml"
_MARK: Final = "mark.spec("


@dataclass(frozen=True, slots=True)
class Specification:
    """The statements by section and number, what shows each, and the ADR of each that the project decided otherwise."""

    sections: Mapping[str, Mapping[int, str]]
    adrs: Mapping[int, int]
    shown: Mapping[int, tuple[str, ...]]
    """The tests of each number that is marked somewhere, as pytest names them: ``tests/…/test_x.py::test_y``."""

    def unshown(self) -> list[int]:
        """Statements with neither test nor ADR."""
        return [number for number in self._numbers() if number not in self.shown and number not in self.adrs]

    def unknown(self) -> list[int]:
        """Numbers that a mark or an ADR names and no statement has."""
        return sorted((set(self.shown) | set(self.adrs)) - set(self._numbers()))

    def _numbers(self) -> Iterator[int]:
        for statements in self.sections.values():
            yield from statements


def read_specification() -> Specification:
    """Read the statements with the marks of all tests."""
    found = tomllib.loads(_STATEMENTS.read_text(encoding="utf-8"))
    adrs = {int(number): adr for number, adr in found.pop("decided").items()}
    sections = {name: {int(number): text for number, text in rows.items()} for name, rows in found.items()}
    sources = ((path, path.read_text(encoding="utf-8")) for path in sorted((TOP / "tests").rglob("test_*.py")))
    shown: dict[int, tuple[str, ...]] = {}
    for path, source in sources:
        if _MARK in source:
            name = path.relative_to(TOP).as_posix()
            for test, numbers in marks_of(source):
                for number in numbers:
                    shown[number] = (*shown.get(number, ()), f"{name}::{test}")
    return Specification(sections, adrs, shown)


def marks_of(source: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each marked test of a module with the numbers of its marks.

    ``ValueError`` for a mark that is no decorator of a test, or that names anything but whole numbers: it would be
    passed over.
    """
    tree, read = ast.parse(source), 0
    for name, node in _tests(tree.body):
        marks = [call for call in node.decorator_list if _is_mark(call)]
        read += len(marks)
        if marks:
            yield name, [_number(each) for mark in marks if isinstance(mark, ast.Call) for each in mark.args]
    if read != sum(_is_mark(node) for node in ast.walk(tree)):
        raise ValueError("a mark of the specification that is no decorator of a test")


def _tests(body: Iterable[ast.stmt], of: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield of + node.name, node
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield of + node.name, node
            yield from _tests(node.body, f"{of}{node.name}::")


def _is_mark(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec"


def _number(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    raise ValueError(f"a mark of the specification names whole numbers, and this is none: {ast.unparse(node)}")


def _tables() -> Iterator[str]:
    specification = read_specification()
    for section, statements in specification.sections.items():
        rows = [f"| {number} | {text} | {_shown(specification, number)} |" for number, text in statements.items()]
        yield "\n".join([f"## {section}\n", "| | statement | shown by |", "|---|---|---|", *rows])


def _shown(specification: Specification, number: int) -> str:
    adr = [_adr(specification.adrs[number])] if number in specification.adrs else []
    tests = [f"[`{test}`](../{test.partition('::')[0]})" for test in specification.shown.get(number, ())]
    return "<br>".join(adr + tests)


def _adr(number: int) -> str:
    (path,) = Path(TOP / "docs/adr").glob(f"{number:04}-*.md")
    return f"[ADR {number}](adr/{path.name})"


SPECIFICATION: Final = part("docs/specification.md", "specification", _tables)
