"""The catalogue of the pages' texts, extracted from the source."""

import io
from collections.abc import Iterator
from functools import cache
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.pofile import write_po

from tools.generate.derived import TOP, Derived

_POT: Final = "services/api/src/service_api/pages/locale/pages.pot"
SOURCE: Final = TOP / "services/api/src/service_api/pages"
_METHODS: Final = [("**.py", "python"), ("templates/**.html", "jinja2")]
_OPTIONS: Final = {"templates/**.html": {"trimmed": "true", "silent": "false"}}
_KEYWORDS: Final = {"_": None, "gettext": None, "ngettext": (1, 2), "marked": None, "marked_plural": (1, 2)}
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
    """Every text, with the files in which it stands."""
    found = Catalog(project="service-api", header_comment=_HEAD.rstrip(), charset="utf-8", fuzzy=False)
    for file, message, comments, context in _messages():
        found.add(message, locations=[(file, 0)], auto_comments=comments, context=context)
    return found


def _messages() -> Iterator[tuple[str, str | tuple[str, ...], list[str], str | None]]:
    for file, _, message, comments, context in extract_from_dir(
        SOURCE, _METHODS, _OPTIONS, _KEYWORDS, comment_tags=("Translators:",), strip_comment_tags=True
    ):
        yield f"service_api/pages/{file}", message, comments, context
    for name in ("authentication.py", "callers.py"):
        for _, message, comments, context in extract_from_file("python", _REFUSALS / name, {"ServiceError": (2,)}):
            yield f"service_common/web/{name}", message, comments, context


def pot() -> bytes:
    """The file, which is the same whenever it is written."""
    made = io.BytesIO()
    write_po(made, extracted(), width=120, include_lineno=False, sort_by_file=True)
    return b"".join(line for line in made.getvalue().splitlines(keepends=True) if not line.startswith(_CHANGING))


CATALOGUE: Final = Derived("catalogue", _POT, lambda: {_POT: pot()})
