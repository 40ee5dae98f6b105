"""Every code that a person may meet, what it says, and what to do.

Both are read from where the code is raised, so that the page says what the programs say. A value that a message has at
run time is its name in italics.
"""

import ast
import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from bounty_protocol.errors import PROBLEMS

from tools.generate.derived import TOP, table

CLIENT: Final = ("cli/src", "libs/bounty_protocol/src")
SERVICES: Final = ("services/*/src", "libs/*/src")
_ERRORS: Final = frozenset({"ServiceError", "CommandRefused", "CommandFailed", "Refused", "Failed"})
_SHOWN: Final = 3
"""Of the sentences that one code comes with."""

Said = tuple[str | None, str | None]
"""The message and the remedy of an error as it is raised at one place; None for what is known at run time alone."""


def raised(patterns: Iterable[str]) -> Mapping[str, list[Said]]:
    """Return what the errors say that the sources below these folders raise, by code."""
    found: dict[str, list[Said]] = {}
    paths = sorted({path for pattern in patterns for folder in TOP.glob(pattern) for path in folder.rglob("*.py")})
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = ".".join(path.with_suffix("").parts[path.parts.index("src") + 1 :])
        for function in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)):
            for call in (each for each in ast.walk(function) if isinstance(each, ast.Call)):
                if _name(call.func) in _ERRORS and call.args:
                    names = _Names(function, module, call.lineno)
                    code = names.said(call.args[0])
                    message = names.said(call.args[1]) if len(call.args) > 1 else None
                    remedy = [names.said(each.value) for each in call.keywords if each.arg == "next_action"]
                    if code is not None and code.replace("_", "").isalpha():
                        found.setdefault(code, []).append((message, remedy[0] if remedy else None))
    return dict(sorted(found.items()))


class _Names:
    """What the names of a function stand for before a line of it, and those of its module."""

    def __init__(self, function: ast.FunctionDef, module: str, line: int) -> None:
        before = (each for each in ast.walk(function) if isinstance(each, ast.Assign) and each.lineno < line)
        assigned = sorted(before, key=lambda each: each.lineno)
        self._texts = {_name(each.targets[0]): each.value for each in assigned if len(each.targets) == 1}
        self._module = module

    def said(self, found: ast.expr) -> str | None:
        """Return the text of an expression; None if it is nothing but values."""
        match found:
            case ast.Constant(value):
                return str(value)
            case ast.JoinedStr(values):
                plain = [str(each.value) for each in values if isinstance(each, ast.Constant)]
                parts = [str(each.value) if isinstance(each, ast.Constant) else self._value(each) for each in values]
                return "".join(parts) if any(map(str.isalpha, "".join(plain))) else None
            case ast.Name(name) if name in self._texts:
                return self.said(self._texts.pop(name))
            case ast.Name(name) if name.isupper():
                value = getattr(importlib.import_module(self._module), name, None)
                return value if isinstance(value, str) else None
        return None

    def _value(self, found: ast.expr) -> str:
        inner = found.value if isinstance(found, ast.FormattedValue) else found
        said = self.said(inner) if isinstance(inner, ast.Name) else None
        if said is not None:
            return said
        name = _name(inner.args[0] if isinstance(inner, ast.Call) and inner.args else inner)
        return f"*{name.strip('_').replace('_', ' ').lower()}*" if name else "…"


def _name(found: ast.expr) -> str:
    if isinstance(found, ast.Attribute):
        return found.attr
    return found.id if isinstance(found, ast.Name) else ""


def _cell(texts: Iterable[str | None]) -> str:
    """Different sentences, the first few of them."""
    found = [each.replace("|", "\\|").replace("\n", " ") for each in dict.fromkeys(texts) if each]
    return "<br>".join(found[:_SHOWN]) or "its message says it"


def _client() -> Iterator[str]:
    """Yield a row for each thing to do, with the sentences that it follows."""
    for code, places in raised(CLIENT).items():
        remedies = dict.fromkeys(remedy for _, remedy in places) if code not in PROBLEMS else {}
        for number, remedy in enumerate(remedies):
            said = _cell(message for message, after in places if after == remedy)
            yield f"| {'' if number else f'`{code}`'} | {said} | {_cell([remedy])} |"


def _api() -> Iterator[str]:
    places = raised(SERVICES)
    for code, problem in sorted(PROBLEMS.items()):
        said = _cell(message for message, _ in places.get(code, ()))
        yield f"| `{code}` | {problem.status} | {said} | {_cell([problem.next_action])} |"


def page() -> Iterator[str]:
    """Yield the blocks of the page of errors."""
    yield "# Errors"
    yield (
        "Every refusal has a code that stays the same between releases, a sentence that says what happened, and a next "
        "step. Names in italics are values. A command that was refused goes on where it was when you run it again; it "
        "never pays, submits or claims twice."
    )
    yield "## Codes of the client"
    yield table("| code | what it says | what to do |", _client())
    yield "## Codes of the API"
    yield table("| code | status | what it says | what to do |", _api())
