"""The pages in another language: every text is translated, and a catalogue cannot do more than say something."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from babel import Locale
from babel.localedata import locale_identifiers
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from hatchling.builders.wheel import WheelBuilder
from html5lib import HTMLParser
from service_api.pages.texts import ENGLISH
from service_common.config import ConfigurationError

from tests.pages.catalogue import compile_catalogue, translate
from tests.pages.conftest import VARIABLES, Pages, configured
from tests.pages.ledger import SOLVERS, Ledger
from tools.generate.catalogue import pot
from tools.generate.derived import TOP


def marks(text: str) -> str:
    return f"«{text}»"


def spoken(folder: Path, language: str, change: Callable[[str], str] = marks, ledger: Ledger | None = None) -> Pages:
    """Pages in a language that has a translation of every text."""
    translate(folder, language, change)
    return Pages(ledger or Ledger(), variables=settings(folder, language))


def settings(folder: Path, language: str) -> dict[str, str]:
    return {**VARIABLES, "SERVICE_PAGES_LANGUAGE": language, "SERVICE_PAGES_CATALOGUES": str(folder)}


def test_catalogue_can_be_read_by_tools() -> None:
    assert len(read_po(io.BytesIO(pot()), abort_invalid=True)) > 300


def test_wheel_holds_the_catalogue(tmp_path: Path) -> None:
    builder = WheelBuilder(str(TOP / "services/api"))
    held = {file.distribution_path for file in builder.recurse_included_files()}
    assert {"service_api/pages/locale/pages.pot", "service_api/pages/templates/base.html"} <= held
    assert builder.config.include_path("src/service_api/pages/locale/de/LC_MESSAGES/pages.mo")


@pytest.mark.parametrize(
    ("language", "direction"), [("de", None), ("pt-BR", None), ("zh-Hant", None), ("ar", "rtl"), ("uz-Arab", "rtl")]
)
def test_language_is_stated_everywhere(tmp_path: Path, language: str, direction: str | None) -> None:
    pages = spoken(tmp_path, language)
    html = HTMLParser(namespaceHTMLElements=False).parse(pages.get("/").text)
    assert (html.get("lang"), html.get("dir")) == (language, direction)
    assert f'xml:lang="{language}"' in pages.get("/feed.atom").text
    asked = pages.get("/", **{"Accept-Language": "en"})
    assert asked.data == pages.get("/").data
    assert "Accept-Language" not in asked.headers.get("Vary", "")


def test_direction_is_unicodes() -> None:
    languages = sorted({re.sub("_[A-Z]{2}$", "", each) for each in locale_identifiers() if re.fullmatch(NAMED, each)})
    found = {each: replace(ENGLISH, language=each.replace("_", "-")).direction for each in languages}
    assert len(found) > 200
    wanted = {each: "rtl" if Locale.parse(each).text_direction == "rtl" else "ltr" for each in languages}
    assert found == wanted  # Mongolian script is written downwards, which no page can be


NAMED: Final = r"[a-z]{2,3}(_[A-Z][a-z]{3})?(_[A-Z]{2})?"


@pytest.mark.parametrize("language", ["de", "../de", "de/..", "german", "DE", "de_DE", "", "en-"])
def test_language_without_a_catalogue_is_refused(tmp_path: Path, language: str) -> None:
    if not language:
        assert configured(settings(tmp_path, "")).pages.texts is ENGLISH
        return
    with pytest.raises(ConfigurationError, match="SERVICE_PAGES_LANGUAGE is malformed: a language"):
        configured(settings(tmp_path, language))


def test_damaged_catalogue_is_refused(tmp_path: Path) -> None:
    translate(tmp_path, "de", marks)
    file = tmp_path / "de/LC_MESSAGES/pages.mo"
    whole = file.read_bytes()
    assert configured(settings(tmp_path, "de")).pages.texts.language == "de"
    of_no_alphabet = whole.replace(b"utf-8", b"utf-9", 1)
    for damaged in (b"", whole[:100], whole[: len(whole) // 2], b"\0" + whole[1:], of_no_alphabet):
        file.write_bytes(damaged)
        with pytest.raises(ConfigurationError, match="SERVICE_PAGES_LANGUAGE"):
            configured(settings(tmp_path, "de"))


def catalogue(messages: dict[Any, Any], language: str = "de") -> Catalog:
    made = Catalog(locale=language)
    for original, translation in messages.items():
        made.add(original, translation)
    return made


def test_partial_translation_leaves_english(tmp_path: Path) -> None:
    compile_catalogue(tmp_path, catalogue({"Bounties": "Belohnungen", "How it works": ""}))
    pages = Pages(variables=settings(tmp_path, "de"))
    assert "Belohnungen Guardians Publish How it works Status" in pages.text("/")


def test_plural__that_was_left_empty__is_in_english(tmp_path: Path) -> None:
    empty = "\0"  # where forms are separated: of two forms that have no text
    compile_catalogue(tmp_path, catalogue({("%(count)s hour", "%(count)s hours"): (empty, "")}))
    assert "1 hour to 30 days" in Pages(variables=settings(tmp_path, "de")).text("/deployment")


def test_plural_of_three_forms_is_by_number(tmp_path: Path) -> None:
    forms = {("%(count)s Submission", "%(count)s Submissions"): ("%(count)s раб1", "%(count)s раб2", "%(count)s раб5")}
    compile_catalogue(tmp_path, catalogue(forms, "ru"))
    pages = Pages(variables=settings(tmp_path, "ru"))
    for count, form in ((0, "раб5"), (1, "раб1"), (2, "раб2"), (3, "раб2")):
        pages.ledger.add(submitted=[*SOLVERS[:count]])
        assert f"{count} {form}" in pages.text(f"/bounties/{len(pages.ledger.bounties)}")
