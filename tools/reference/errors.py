"""Every code that a person may meet, what it says, and what to do.

Both are read from where the code is raised, so that the page says what the programs say. A value that a message has at
run time is its name in italics.
"""

import ast
import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from bounty_protocol.errors import PROBLEMS

from tools.generate.derived import TOP, table

CLIENT: Final = ("cli/src", "libs/bounty_protocol/src")
SERVICES: Final = ("services/*/src", "libs/*/src")
_ERRORS: Final = frozenset({"ServiceError", "CommandRefused", "CommandFailed", "Refused", "Failed"})
_SHOWN: Final = 3
"""Of the sentences that one code comes with."""
_VALUE: Final = "…"
_SEE: Final = "its message says it"
_LETTERS: Final = 3
"""Of a text that says anything beside the values in it."""

_Texts = Mapping[str, list[tuple[int, ast.expr]]]
"""What each name of a function stands for, and from which line on."""


@dataclass(frozen=True, slots=True)
class RaisedError:
    """A code as it is raised at one place; None for what is known at run time alone."""

    code: str
    message: str | None
    remedy: str | None


def raised(patterns: Iterable[str]) -> list[RaisedError]:
    """Return every error with a code that the sources below these folders raise, in their order."""
    files = sorted(path for pattern in patterns for folder in TOP.glob(pattern) for path in folder.rglob("*.py"))
    return [found for path in dict.fromkeys(files) for found in _Reader(path).read()]


class _Reader:
    """Reads the errors of one module, with the texts that its names stand for."""

    def __init__(self, path: Path) -> None:
        self._tree = ast.parse(path.read_text(encoding="utf-8"))
        self._module = ".".join(path.with_suffix("").parts[path.parts.index("src") + 1 :])

    def read(self) -> Iterator[RaisedError]:
        functions = [each for each in ast.walk(self._tree) if isinstance(each, ast.FunctionDef)]
        for function in functions:
            texts = _texts_of(function)
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _name(call.func) in _ERRORS and call.args:
                    yield from self._error(call, texts)

    def _error(self, call: ast.Call, texts: _Texts) -> Iterator[RaisedError]:
        code = self._said(call.args[0], texts, call.lineno)
        if code is None or not code.replace("_", "").isalpha():
            return
        remedies = [each.value for each in call.keywords if each.arg == "next_action"]
        message = self._said(call.args[1], texts, call.lineno) if len(call.args) > 1 else None
        remedy = self._said(remedies[0], texts, call.lineno) if remedies else None
        yield RaisedError(code, message, remedy)

    def _said(self, found: ast.expr, texts: _Texts, line: int, depth: int = 3) -> str | None:
        """Return the text of an expression; None if it is nothing but values."""
        if isinstance(found, ast.Constant):
            return str(found.value)
        if isinstance(found, ast.JoinedStr):
            parts = [
                str(each.value) if isinstance(each, ast.Constant) else self._value(each, texts, line, depth)
                for each in found.values
            ]
            text = "".join(parts)
            plain = "".join(str(each.value) for each in found.values if isinstance(each, ast.Constant))
            return text if sum(map(str.isalpha, plain)) >= _LETTERS else None
        if isinstance(found, ast.Name) and depth:
            before = [each for at, each in texts.get(found.id, []) if at < line]
            return self._said(before[-1], texts, line, depth - 1) if before else self._constant(found.id)
        return None

    def _value(self, found: ast.expr, texts: _Texts, line: int, depth: int) -> str:
        inner = found.value if isinstance(found, ast.FormattedValue) else found
        said = self._said(inner, texts, line, depth - 1) if isinstance(inner, ast.Name) and depth else None
        if said is not None:
            return said
        name = _name(inner.args[0] if isinstance(inner, ast.Call) and inner.args else inner)
        return f"*{name.strip('_').replace('_', ' ').lower()}*" if name else _VALUE

    def _constant(self, name: str) -> str | None:
        """Return the module's own text of this name."""
        if name != name.upper():
            return None
        value = getattr(importlib.import_module(self._module), name, None)
        return value if isinstance(value, str) else None


def _texts_of(function: ast.FunctionDef) -> _Texts:
    found: dict[str, list[tuple[int, ast.expr]]] = {}
    for each in ast.walk(function):
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and isinstance(each.targets[0], ast.Name):
            found.setdefault(each.targets[0].id, []).append((each.lineno, each.value))
    return {name: sorted(values, key=lambda item: item[0]) for name, values in found.items()}


def _name(found: ast.expr) -> str:
    if isinstance(found, ast.Attribute):
        return found.attr
    return found.id if isinstance(found, ast.Name) else ""


@cache
def _by_code(patterns: tuple[str, ...]) -> Mapping[str, list[RaisedError]]:
    found: dict[str, list[RaisedError]] = {}
    for each in raised(patterns):
        found.setdefault(each.code, []).append(each)
    return dict(sorted(found.items()))


def _cell(texts: Iterable[str | None]) -> str:
    """Different sentences, the first few of them."""
    found = [each.replace("|", "\\|").replace("\n", " ") for each in dict.fromkeys(texts) if each]
    return "<br>".join(found[:_SHOWN]) or _SEE


def rows_of(code: str, places: Iterable[RaisedError]) -> Iterator[str]:
    """Yield a row for each thing to do, with the sentences that it follows."""
    messages: dict[str | None, list[str | None]] = {}
    for each in places:
        messages.setdefault(each.remedy, []).append(each.message)
    for number, (remedy, found) in enumerate(messages.items()):
        yield f"| {'' if number else f'`{code}`'} | {_cell(found)} | {_cell([remedy])} |"


def _client() -> Iterator[str]:
    found = _by_code(CLIENT).items()
    rows = (row for code, places in found if code not in PROBLEMS for row in rows_of(code, places))
    yield table("| code | what it says | what to do |", rows)


def _api() -> Iterator[str]:
    rows, places = [], _by_code(SERVICES)
    for code, problem in sorted(PROBLEMS.items()):
        said = _cell(each.message for each in places.get(code, ()))
        rows.append(f"| `{code}` | {problem.status} | {said} | {_cell([problem.next_action])} |")
    yield table("| code | status | what it says | what to do |", rows)


def page() -> Iterator[str]:
    """Yield the blocks of the page of errors."""
    yield "# Errors"
    yield (
        "Every refusal has a code that stays the same between releases, a sentence that says what happened, and a next "
        "step. Names in italics are values. A command that was refused goes on where it was when you run it again; it "
        "never pays, submits or claims twice."
    )
    yield "## Codes of the client"
    yield from _client()
    yield "## Codes of the API"
    yield from _api()
