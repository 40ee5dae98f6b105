"""The catalogue of the pages' texts, extracted from the source, and translations made of it for the tests.

``python -m tests.web.catalogue`` writes it again, with the PYTHONPATH of CONTRIBUTING.md; a test compares.
"""

import io
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import write_po

TOP: Final = Path(__file__).parents[2]
SOURCE: Final = TOP / "services/web/src/service_web"
POT: Final = SOURCE / "locale/service_web.pot"
_METHODS: Final = [("**.py", "python"), ("templates/**.html", "jinja2")]
_OPTIONS: Final = {"templates/**.html": {"trimmed": "true", "silent": "false"}}
_KEYWORDS: Final = {"_": None, "gettext": None, "ngettext": (1, 2), "marked": None, "marked_plural": (1, 2)}
_REFUSALS: Final = TOP / "libs/service_common/src/service_common/web"
"""What a public read can be refused with, before a page is made, is a text of the library."""
_HEAD: Final = """\
# The texts of the pages. Made by tests/web/catalogue.py from the source; do not edit.
# docs/web.md describes how a translation is made of it.
"""
_CHANGING: Final = (b'"POT-Creation-Date:', b'"Generated-By:')
"""Lines of the header that differ each time."""


@cache
def extracted() -> Catalog:
    """Every text, with the files in which it stands."""
    found = Catalog(project="service-web", header_comment=_HEAD.rstrip(), charset="utf-8", fuzzy=False)
    for file, message, comments, context in _messages():
        found.add(message, locations=[(file, 0)], auto_comments=comments, context=context)
    return found


def _messages() -> Iterator[tuple[str, str | tuple[str, ...], list[str], str | None]]:
    for file, _, message, comments, context in extract_from_dir(
        SOURCE, _METHODS, _OPTIONS, _KEYWORDS, comment_tags=("Translators:",), strip_comment_tags=True
    ):
        yield f"service_web/{file}", message, comments, context
    for name in ("authentication.py", "callers.py"):
        for _, message, comments, context in extract_from_file("python", _REFUSALS / name, {"ServiceError": (2,)}):
            yield f"service_common/web/{name}", message, comments, context


def pot() -> bytes:
    """The file, which is the same whenever it is written."""
    made = io.BytesIO()
    write_po(made, extracted(), width=120, include_lineno=False, sort_by_file=True)
    return b"".join(line for line in made.getvalue().splitlines(keepends=True) if not line.startswith(_CHANGING))


def translate(folder: Path, language: str, change: Callable[[str], str]) -> None:
    """Compile a translation in which every text of the catalogue is changed so."""
    made = Catalog(locale=language.replace("-", "_"))
    for message in extracted():
        if isinstance(message.id, tuple):
            one, many = map(change, message.id)
            made.add(message.id, (one, *[many] * (made.num_plurals - 1)))
        elif message.id:
            made.add(message.id, change(str(message.id)))
    compile_catalogue(folder, made)


def compile_catalogue(folder: Path, made: Catalog) -> None:
    """Write it where the pages look for it."""
    target = folder / str(made.locale_identifier) / "LC_MESSAGES/service_web.mo"
    target.parent.mkdir(parents=True)
    with target.open("wb") as file:
        write_mo(file, made)


if __name__ == "__main__":
    POT.write_bytes(pot())
