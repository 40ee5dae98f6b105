"""docs/architecture.md: the parts, what each does and never does, by the docstrings of their packages."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tools.generate.derived import TOP, part, table

_PACKAGES: Final = (
    ("[api](interface.md)", "services/api", "src/service_api"),
    ("[indexer](indexer.md)", "services/indexer", "src/service_indexer"),
    ("[reviewer](publishing.md)", "services/reviewer", "src/service_reviewer"),
    ("[delivery](delivery.md)", "services/delivery", "src/service_delivery"),
    ("[web](web.md)", "services/web", "src/service_web"),
    ("[client](client.md)", "cli", "src/service_cli"),
    ("[server for agents](agents.md)", "clients/mcp", "src/service_mcp"),
    ("[protocol](formats.md)", "libs/bounty_protocol", "src/bounty_protocol"),
    ("shared by services", "libs/service_common", "src/service_common"),
)
"""By its page, its folder, and the package in it."""


def _table() -> Iterator[str]:
    yield table("| part | folder | does | never |", map(_row, *zip(*_PACKAGES, strict=True)))


def _row(name: str, folder: str, package: str) -> str:
    """A docstring begins with what the part does, and ends with what it never does."""
    text = (TOP / folder / package / "__init__.py").read_text(encoding="utf-8")
    paragraphs = [" ".join(each.split()) for each in (ast.get_docstring(ast.parse(text)) or "").split("\n\n")]
    does, never = paragraphs[0].rstrip("."), paragraphs[-1].removeprefix("It never ").rstrip(".")
    where = folder if package.count("/") == 1 else f"{folder}/{package}"
    return _linked(f"| {name} | `{where}/` | {does} | {never} |")


def _linked(text: str) -> str:
    """Decisions as links, and code as Markdown has it."""
    return re.sub(r"ADR (\d+)", _decision, text).replace("``", "`")


def _decision(found: re.Match[str]) -> str:
    (page,) = (TOP / "docs/adr").glob(f"{int(found[1]):04}-*.md")
    return f"[{found[0]}](adr/{page.name})"


ARCHITECTURE: Final = part("docs/architecture.md", "architecture", _table)
