"""The language of the pages: the catalogue of one deployment, read and checked once, before the process starts.

English stands in the source and needs no catalogue. A constant is ``marked`` where it is defined and translated where
it is shown. Every text is a format: a value stands in it as ``%(name)s``, a percent sign as ``%%``.

A catalogue is the operator's own: a template shows it as HTML, and a value that it lacks fails the page. The policy of
the pages runs nothing that it could hold.
"""

import re
import struct
from dataclasses import dataclass
from gettext import GNUTranslations, NullTranslations
from importlib.resources import as_file, files
from pathlib import Path
from typing import IO, Final, cast

from flask import Flask, current_app, has_app_context

DOMAIN: Final = "pages"
SCRIPT: Final = "script"
"""The context of the texts that scripts show."""
_CONTEXT: Final = "\x04"
_SHOWN_FORMS: Final = 200
_EXTENSION: Final = "service-pages-texts"
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
_RIGHT_TO_LEFT: Final = frozenset(
    {"apc", "ar", "arc", "bal", "bgn", "ckb", "dv", "fa", "glk", "he", "khw", "ks", "lrc", "mzn", "nqo", "ps", "rhg",
     "sd", "sdh", "skr", "syr", "trw", "ug", "ur", "yi"}
)  # fmt: skip
_RIGHT_TO_LEFT_SCRIPTS: Final = frozenset({"Adlm", "Arab", "Aran", "Hebr", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa"})


class _Catalogue(GNUTranslations):
    """The messages of a compiled catalogue."""

    _catalog: dict[str | tuple[str, int], str]
    """The parsed catalogue, without a public name in the library: each text, a plural's by the number of its form."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file)
        # an editor may write what nobody translated as an empty text, which would hide the original
        self._catalog = {key: text for key, text in self._catalog.items() if text}

    def messages(self) -> list[tuple[str | tuple[str, int], str]]:
        """Return each text with its key."""
        return list(self._catalog.items())

    def form(self, count: int) -> int:
        """Return which plural form a count takes."""
        return int(self.plural(count))  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of one language, which ``language`` names as HTML does: ``en``, ``pt-BR``."""

    language: str
    translations: NullTranslations

    @property
    def direction(self) -> str:
        """The writing direction of the language, as HTML names it."""
        language, *further = self.language.split("-")
        scripts = [each for each in further if len(each) == 4]
        is_reversed = scripts[0] in _RIGHT_TO_LEFT_SCRIPTS if scripts else language in _RIGHT_TO_LEFT
        return "rtl" if is_reversed else "ltr"


ENGLISH: Final = Texts("en", NullTranslations())


def parse_language(text: str) -> str:
    """Parse the name of a language with its script or region, if it needs one."""
    if _LANGUAGE.fullmatch(text) is None:
        raise ValueError("a language such as en, de, pt-BR or zh-Hant")
    return text


def read_texts(language: str, folder: Path | None) -> Texts:
    """Read the texts of a language, from the catalogues in ``folder`` or those of this package.

    Raises ``ValueError`` if there is none, or if it cannot be read.
    """
    if language == ENGLISH.language:
        return ENGLISH
    if folder is None:
        with as_file(files("service_api.pages").joinpath("locale")) as own:
            return read_texts(language, own)
    path = folder / language.replace("-", "_") / "LC_MESSAGES" / f"{DOMAIN}.mo"
    try:
        with path.open("rb") as file:
            return Texts(language, _Catalogue(file))
    except FileNotFoundError:
        raise ValueError(f"a language with a catalogue; there is no {path.relative_to(folder)}") from None
    except (OSError, UnicodeDecodeError, struct.error, LookupError):
        raise ValueError(f"a language whose catalogue can be read; {path.relative_to(folder)} cannot") from None


def script_words(texts: Texts) -> dict[str, object] | None:
    """Return the words of the scripts as ``actions/words.ts`` reads them; None in English, their own language."""
    if not isinstance(texts.translations, _Catalogue):
        return None
    single: dict[str, str] = {}
    forms: dict[str, list[str]] = {}
    for key, text in sorted(texts.translations.messages(), key=lambda each: repr(each[0])):
        name = key if isinstance(key, str) else key[0]
        if not name.startswith(SCRIPT + _CONTEXT):
            continue
        name = name.removeprefix(SCRIPT + _CONTEXT)
        if isinstance(key, str):
            single[name] = text
        else:
            forms.setdefault(name, []).append(text)
    return {"texts": single | forms, "forms": [texts.translations.form(count) for count in range(_SHOWN_FORMS)]}


def install_texts(app: Flask, texts: Texts) -> None:
    """Set the language of ``app``: its ``gettext`` texts and its templates."""
    app.extensions[_EXTENSION] = texts
    app.jinja_env.policies["ext.i18n.trimmed"] = True
    app.jinja_env.add_extension("jinja2.ext.i18n")
    # what the extension adds to an environment has no types
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]
        texts.translations.gettext, texts.translations.ngettext, newstyle=True
    )
    app.jinja_env.globals.update(language=texts.language, direction=texts.direction)


def current_texts() -> Texts:
    """Return the texts of the app that answers; English outside of one."""
    if not has_app_context():
        return ENGLISH
    return cast("Texts", current_app.extensions[_EXTENSION])


def gettext(message: str, /, **values: object) -> str:
    """Translate a text into the language of the pages, with its values. The result is plain text: a template escapes
    it.
    """
    return current_texts().translations.gettext(message) % values


def ngettext(one: str, many: str, count: int, /, **values: object) -> str:
    """Translate a text that depends on how many there are."""
    return current_texts().translations.ngettext(one, many, count) % values


def marked(message: str) -> str:
    """Mark a text for the catalogue; it is translated later, when it is shown."""
    return message


def marked_plural(one: str, many: str) -> tuple[str, str]:
    """Mark a text that depends on how many there are."""
    return one, many
