"""The catalogue of the pages' texts, extracted from the source."""

import io
import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.pofile import write_po
from service_api.pages.texts import SCRIPT

from tools.generate.derived import TOP, Derived

_POT: Final = "services/api/src/service_api/pages/locale/pages.pot"
SOURCE: Final = TOP / "services/api/src/service_api/pages"
_METHODS: Final = [("**.py", "python"), ("templates/**.html", "jinja2")]
_OPTIONS: Final = {"templates/**.html": {"trimmed": "true", "silent": "false"}}
_KEYWORDS: Final = {"_": None, "gettext": None, "ngettext": (1, 2), "marked": None, "marked_plural": (1, 2)}
_SCRIPTS: Final = TOP / "clients/typescript/actions"
_TAGGED: Final = re.compile(r"(?<![\w`])t`")
_PLURAL: Final = re.compile(r'\bplural\(\w+, "([^"]+)", "([^"]+)"\)')
_REFUSALS: Final = TOP / "libs/service_common/src/service_common/web"
"""Texts of the library with which a public read can be refused before a page is made."""
_HEAD: Final = """\
# The texts of the pages. Made by tools/generate/catalogue.py from the source; do not edit.
# docs/pages.md describes how a translation is made of it.
"""
_CHANGING: Final = (b'"POT-Creation-Date:', b'"Generated-By:')
"""Lines of the header that differ each time."""


@cache
def extracted() -> Catalog:
    """Return every text, with the files in which it stands."""
    found = Catalog(project="service-api", header_comment=_HEAD.rstrip(), charset="utf-8", fuzzy=False)
    for file, message, comments, context in _messages():
        found.add(message, locations=[(file, 0)], auto_comments=comments, context=context)
    return found


def _messages() -> Iterator[tuple[str, str | tuple[str, ...], list[str], str | None]]:
    for file, _, message, comments, context in extract_from_dir(
        SOURCE, _METHODS, _OPTIONS, _KEYWORDS, comment_tags=("Translators:",), strip_comment_tags=True
    ):
        yield f"service_api/pages/{file}", message, comments, context
    for path in sorted(_SCRIPTS.glob("*.ts")):
        for script_message in script_messages(path.read_text(encoding="utf-8")):
            yield f"clients/typescript/actions/{path.name}", script_message, [], SCRIPT
    for name in ("authentication.py", "callers.py"):
        for _, message, comments, context in extract_from_file("python", _REFUSALS / name, {"ServiceError": (2,)}):
            yield f"service_common/web/{name}", message, comments, context


def script_messages(source: str) -> Iterator[str | tuple[str, ...]]:
    """Find the texts of a script: what stands in t`…`, with its values as ``%(v1)s``, ``%(v2)s``, and plurals."""
    code = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    for found in _TAGGED.finditer(code):
        yield _template(code, found.end())
    for found in _PLURAL.finditer(code):
        yield found.groups()


def _template(code: str, at: int) -> str:
    """Read a template to its closing backtick; a value may hold templates itself."""
    message, values = "", 0
    while code[at] != "`":
        if code.startswith("${", at):
            at, values = _after_value(code, at + 2), values + 1
            message += f"%(v{values})s"
        elif code[at] == "\\":
            message, at = message + code[at + 1], at + 2
        else:
            message, at = message + code[at].replace("%", "%%"), at + 1
    return message


def _after_value(code: str, at: int) -> int:
    """Return where the value of a template that begins here is over."""
    depth = 0
    while depth or code[at] != "}":
        if code[at] == "`":
            at = _after_template(code, at + 1)
            continue
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        at += 1
    return at + 1


def _after_template(code: str, at: int) -> int:
    while code[at] != "`":
        at = _after_value(code, at + 2) if code.startswith("${", at) else at + 1
    return at + 1


def pot() -> bytes:
    """Return the file, which is the same whenever it is written."""
    made = io.BytesIO()
    write_po(made, extracted(), width=120, include_lineno=False, sort_by_file=True)
    return b"".join(line for line in made.getvalue().splitlines(keepends=True) if not line.startswith(_CHANGING))


CATALOGUE: Final = Derived("catalogue", lambda: {_POT: pot()})
