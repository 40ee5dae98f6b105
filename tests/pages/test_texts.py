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
from tests.pages.test_pages import EVERY_PAGE
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


def test_catalogue__has_the_texts_in_a_form_that_tools_read() -> None:
    assert len(read_po(io.BytesIO(pot()), abort_invalid=True)) > 300


def test_wheel__holds_the_catalogue_and_the_translations_beside_it(tmp_path: Path) -> None:
    builder = WheelBuilder(str(TOP / "services/api"))
    held = {file.distribution_path for file in builder.recurse_included_files()}
    assert {"service_api/pages/locale/pages.pot", "service_api/pages/templates/base.html"} <= held
    assert builder.config.include_path("src/service_api/pages/locale/de/LC_MESSAGES/pages.mo")


@pytest.mark.parametrize(
    ("language", "direction"), [("de", None), ("pt-BR", None), ("zh-Hant", None), ("ar", "rtl"), ("uz-Arab", "rtl")]
)
def test_language__of_a_deployment__is_stated_by_all_it_answers(
    tmp_path: Path, language: str, direction: str | None
) -> None:
    pages = spoken(tmp_path, language)
    html = HTMLParser(namespaceHTMLElements=False).parse(pages.get("/").text)
    assert (html.get("lang"), html.get("dir")) == (language, direction)
    assert f'xml:lang="{language}"' in pages.get("/feed.atom").text
    asked = pages.get("/", **{"Accept-Language": "en"})
    assert asked.data == pages.get("/").data
    assert "Accept-Language" not in asked.headers.get("Vary", "")


def test_direction__of_every_language__is_that_of_unicode() -> None:
    languages = sorted({re.sub("_[A-Z]{2}$", "", each) for each in locale_identifiers() if re.fullmatch(NAMED, each)})
    found = {each: replace(ENGLISH, language=each.replace("_", "-")).direction for each in languages}
    assert len(found) > 200
    wanted = {each: "rtl" if Locale.parse(each).text_direction == "rtl" else "ltr" for each in languages}
    assert found == wanted  # Mongolian script is written downwards, which no page can be


NAMED: Final = r"[a-z]{2,3}(_[A-Z][a-z]{3})?(_[A-Z]{2})?"


@pytest.mark.parametrize("language", ["de", "../de", "de/..", "german", "DE", "de_DE", "", "en-"])
def test_language__without_a_catalogue__is_refused_at_start(tmp_path: Path, language: str) -> None:
    if not language:
        assert configured(settings(tmp_path, "")).pages.texts is ENGLISH
        return
    with pytest.raises(ConfigurationError, match="SERVICE_PAGES_LANGUAGE is malformed: a language"):
        configured(settings(tmp_path, language))


def test_language__of_a_damaged_catalogue__is_refused_at_start(tmp_path: Path) -> None:
    translate(tmp_path, "de", marks)
    file = tmp_path / "de/LC_MESSAGES/pages.mo"
    whole = file.read_bytes()
    assert configured(settings(tmp_path, "de")).pages.texts.language == "de"
    of_no_alphabet = whole.replace(b"utf-8", b"utf-9", 1)
    for damaged in (b"", whole[:100], whole[: len(whole) // 2], b"\0" + whole[1:], of_no_alphabet):
        file.write_bytes(damaged)
        with pytest.raises(ConfigurationError, match="SERVICE_PAGES_LANGUAGE"):
            configured(settings(tmp_path, "de"))


LINK = "How a page is written: %s, and the project's guide for Posters."
GLOSSARY = '<a href="/how-it-works">how it works</a>'


@pytest.mark.parametrize(
    ("original", "translation", "fault"),
    [
        ("Glossary", "Glossar", None),
        ("Glossary", "<b>Glossar</b>", "other tags"),
        ("Glossary", "Glossar<script>alert(1)</script>", "other tags"),
        ("Glossary", "<img src=x onerror=alert(1)>", "other tags"),
        ("Glossary", "100 %% Glossar", None),
        ("Glossary", "100 % Glossar", "single percent sign"),
        ("Glossary", "%s", "single percent sign"),
        ("Glossary", "%(count)s Glossar", "other values"),
        (LINK % GLOSSARY, f"{GLOSSARY}: wie man sie schreibt", None),
        (LINK % GLOSSARY, "Wie man sie schreibt: so", "other tags"),
        (LINK % GLOSSARY, 'Wie man sie schreibt: <a href="//evil.example">so</a>', "other tags"),
        (LINK % GLOSSARY, 'Wie: <a href="/how-it-works" onclick="alert(1)">so</a>', "other tags"),
        ("in %(span)s", "in %(span)s", None),
        ("in %(span)s", "in Kürze", "other values"),
        ("in %(span)s", "in %(spam)s", "other values"),
        ("in %(span)s", "in %(span)d", "single percent sign"),
        (("%(count)s hour", "%(count)s hours"), ("eine Stunde", "%(count)s Stunden"), None),
        (("%(count)s hour", "%(count)s hours"), ("%(count)s Stunde", "%(number)s Stunden"), "other values"),
    ],
)
def test_translation__with_what_its_original_lacks__is_refused_at_start(
    tmp_path: Path, original: Any, translation: Any, fault: str | None
) -> None:
    compile_catalogue(tmp_path, catalogue({original: translation}))
    if fault is None:
        assert configured(settings(tmp_path, "de")).pages.texts.language == "de"
        return
    with pytest.raises(ConfigurationError, match=f"the translation of .* has .*{fault}"):
        configured(settings(tmp_path, "de"))


def catalogue(messages: dict[Any, Any], language: str = "de") -> Catalog:
    made = Catalog(locale=language)
    for original, translation in messages.items():
        made.add(original, translation)
    return made


def test_translation__that_looks_like_markup__is_text_wherever_it_is_shown(tmp_path: Path) -> None:
    said = '" onmouseover="alert(1) \'>< &lt;b&gt; <!-- <script src=//evil.example'
    ledger = Ledger()
    ledger.add()
    pages, english = spoken(tmp_path, "de", lambda text: text + said, ledger), Pages(ledger)
    for path in (*EVERY_PAGE, "/nothing", "/find?q=0xzz", "/?min_award=zz"):
        if not path.endswith(".md"):
            assert elements(pages.get(path).text) == elements(english.get(path).text), path


def elements(html: str) -> list[tuple[str, list[str]]]:
    """The structure of strictly well-formed HTML: each element with the names of its attributes,
    but that of a language's words."""
    tree = HTMLParser(strict=True, namespaceHTMLElements=False).parse(html)
    return [(str(element.tag), sorted({*element.attrib} - {"data-words"})) for element in tree.iter()]


def test_translation__of_a_few_texts__leaves_the_rest_in_english(tmp_path: Path) -> None:
    compile_catalogue(tmp_path, catalogue({"Bounties": "Belohnungen", "How it works": ""}))
    pages = Pages(variables=settings(tmp_path, "de"))
    assert "Belohnungen Guardians Publish How it works Status" in pages.text("/")


def test_plural__that_was_left_empty__is_in_english(tmp_path: Path) -> None:
    empty = "\0"  # where forms are separated: of two forms that have no text
    compile_catalogue(tmp_path, catalogue({("%(count)s hour", "%(count)s hours"): (empty, "")}))
    assert "1 hour to 30 days" in Pages(variables=settings(tmp_path, "de")).text("/deployment")


def test_plural__of_a_language_with_three_forms__is_by_its_number(tmp_path: Path) -> None:
    forms = {("%(count)s Submission", "%(count)s Submissions"): ("%(count)s раб1", "%(count)s раб2", "%(count)s раб5")}
    compile_catalogue(tmp_path, catalogue(forms, "ru"))
    pages = Pages(variables=settings(tmp_path, "ru"))
    for count, form in ((0, "раб5"), (1, "раб1"), (2, "раб2"), (3, "раб2")):
        pages.ledger.add(submitted=[*SOLVERS[:count]])
        assert f"{count} {form}" in pages.text(f"/bounties/{len(pages.ledger.bounties)}")


def test_plural__by_a_rule_that_divides_by_zero__is_refused_at_start(tmp_path: Path) -> None:
    made = catalogue({"Glossary": "Glossar"})
    made.mime_headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Plural-Forms", "nplurals=2; plural=(n/(n-7));"),
    ]
    compile_catalogue(tmp_path, made)
    with pytest.raises(ConfigurationError, match="rule for plurals"):
        configured(settings(tmp_path, "de"))
