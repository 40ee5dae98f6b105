"""The calls of ``service_cli.Client``, from their signatures and docstrings."""

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Final

from service_cli.client import Client

_GROUP: Final = re.compile(r"    # --- (.+)")
_WIDTH: Final = 100


def calls() -> Iterator[str]:
    """Yield each public call, below the heading of its group."""
    source = inspect.getsource(Client)
    groups = {line: found[1] for line, text in enumerate(source.splitlines(), 1) if (found := _GROUP.fullmatch(text))}
    defined = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for call in defined:
        if call.name.startswith("_"):
            continue
        before = [line for line in groups if line < call.lineno]
        if before:
            title = groups.pop(before[-1])
            yield f"## {title[0].upper()}{title[1:]}"
        yield f"```python\n{_signature(call)}\n```"
        yield _text(ast.get_docstring(call) or "")


def _signature(call: ast.FunctionDef) -> str:
    """As it is written, without ``self`` and the quotes of types."""
    given = call.args
    first = len(given.args) - len(given.defaults)
    parameters = [
        _parameter(each, given.defaults[at - first] if at >= first else None) for at, each in enumerate(given.args)
    ]
    named = [_parameter(each, default) for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    parameters = parameters[1:] + (["*", *named] if named else [])
    result = "" if call.returns is None else f" -> {_type(call.returns)}"
    line = f"client.{call.name}({', '.join(parameters)}){result}"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"client.{call.name}(", *(f"    {each}," for each in parameters), f"){result}"])


def _parameter(parameter: ast.arg, default: ast.expr | None) -> str:
    named = parameter.arg if parameter.annotation is None else f"{parameter.arg}: {_type(parameter.annotation)}"
    return named if default is None else f"{named} = {ast.unparse(default)}".replace("'", '"')


def _type(annotation: ast.expr) -> str:
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return str(text).replace("'", '"')


def _text(docstring: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", " ".join(docstring.split()))
