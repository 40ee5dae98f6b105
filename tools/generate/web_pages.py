"""docs/web.md: the pages, and what is there for programs, by the docstrings of the routes."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tools.generate.derived import TOP, part, table

_ROUTES: Final = "services/web/src/service_web/routes"
_FOR_PROGRAMS: Final = ("feeds", "beacon", "agents")


def _tables() -> Iterator[str]:
    yield table("| page | shows |", _rows("pages"))
    rows = [row for name in _FOR_PROGRAMS for row in _rows(name)]
    yield table("| for programs | what |", rows)


def _rows(module: str) -> Iterator[str]:
    """A row for each route of a module, in its order."""
    tree = ast.parse((TOP / _ROUTES / f"{module}.py").read_text(encoding="utf-8"))
    for function in (each for each in tree.body if isinstance(each, ast.FunctionDef)):
        for each in function.decorator_list:
            if isinstance(each, ast.Call) and ast.unparse(each.func) in {"routes.get", "routes.post"}:
                about = " ".join((ast.get_docstring(function) or "").partition("\n\n")[0].split())
                method = "POST " if ast.unparse(each.func) == "routes.post" else ""
                yield f"| `{method}{_path(ast.literal_eval(each.args[0]))}` | {about.rstrip('.')} |"


def _path(rule: str) -> str:
    """A path as documents spell it: a name in braces, or what there is to choose from."""
    chosen = re.sub(r"<any\((.*?)\):\w+>", lambda found: "{" + found[1].replace("'", "").replace(", ", ",") + "}", rule)
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", chosen)


WEB_PAGES: Final = part("docs/web.md", "web-pages", _tables)
