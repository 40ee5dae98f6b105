"""The pages in another language: every text is translated, and a catalogue cannot do more than say something."""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as Tree

import pytest
from babel import Locale
from babel.localedata import locale_identifiers
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from bounty_protocol.domain.lifecycle import Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money import AmountKind
from bounty_protocol.errors import ServiceError
from hatchling.builders.wheel import WheelBuilder
from html5lib import HTMLParser
from service_api.pages.texts import ENGLISH
from service_common.config import ConfigurationError

from tests.pages.catalogue import compile_catalogue, translate
from tests.pages.conftest import VARIABLES, Pages, configured
from tests.pages.ledger import GUARDIANS, NOW, POSTER, SOLVERS, Ledger, account, page_of
from tests.pages.test_pages import EVERY_PAGE, STAGES
from tools.generate.catalogue import pot
from tools.generate.derived import TOP

STRANGER: Final = "xyzzy"
MIXED: Final = "xyzzу"
"""What strangers write in these tests; the second ends with a Cyrillic letter."""
UNTRANSLATED: Final = {
    *("Bounty Escrow", "UTC", "JSON"),
    *("accepting", "open", "judging", "decided", "all", "newest", "deadline", "award"),  # values of the list's address
    *("USDC", STRANGER, MIXED, "zz"),
}
"""Words outside of the catalogue: names, a unit, values of addresses; what the token and strangers are called here."""
SHOWN_AS_IT_IS: Final = {"script", "style", "code", "pre"}
ATTRIBUTES: Final = ("title", "alt", "aria-label", "placeholder")


def marks(text: str) -> str:
    return f"«{text}»"


def outside(text: str) -> set[str]:
    """The words of a text that are outside of all marks."""
    depth, found = 0, []
    for part in re.split("([«»])", text):
        depth += (part == "«") - (part == "»")
        assert depth >= 0, text
        found.append(part if depth == 0 and part not in "«»" else " ")
    assert depth == 0, text
    left = re.sub(r"\b0x[0-9a-f…]+", " ", "".join(found))
    for known in sorted(UNTRANSLATED, key=len, reverse=True):
        left = re.sub(rf"\b{known}\b", " ", left)
    return set(re.findall(r"[^\W\d_]{2,}", left))


def of_html(html: str) -> Iterator[str]:
    """What a reader of a page sees or hears: its text as a whole, then each attribute that is text."""
    tree = HTMLParser(strict=True, namespaceHTMLElements=False).parse(html)
    yield "".join(_text(tree))
    for element in tree.iter():
        yield from (element.attrib[name] for name in ATTRIBUTES if name in element.attrib)
        if element.tag == "meta" and re.search(
            "description|title|alt", element.get("property", element.get("name", ""))
        ):
            yield element.attrib["content"]


def _text(element: Any) -> Iterator[str]:
    if element.tag not in SHOWN_AS_IT_IS and element.get("dir") != "auto":  # which is what strangers wrote
        yield element.text or ""
        for each in element:
            yield from _text(each)
            yield each.tail or " "
            yield " " if each.tag not in {"a", "bdi", "code", "span", "strong", "time"} else ""


def of_atom(text: str) -> Iterator[str]:
    for element in Tree.fromstring(text).iter():  # noqa: S314  # our own
        if element.tag.rpartition("}")[2] in {"title", "summary", "subtitle"}:
            yield element.text or ""


READERS: Final[dict[str, Callable[[str], Iterator[str]]]] = {
    "text/html": of_html,
    "application/atom+xml": of_atom,
}


def spoken(folder: Path, language: str, change: Callable[[str], str] = marks, ledger: Ledger | None = None) -> Pages:
    """Pages in a language that has a translation of every text."""
    translate(folder, language, change)
    return Pages(ledger or Ledger(), variables=settings(folder, language))


def settings(folder: Path, language: str) -> dict[str, str]:
    return {**VARIABLES, "SERVICE_PAGES_LANGUAGE": language, "SERVICE_PAGES_CATALOGUES": str(folder)}


def lived() -> Ledger:
    """A bounty in each state that a page words in another way."""
    ledger = Ledger()
    for change in STAGES.values():
        change(ledger.add(page=page_of(STRANGER, STRANGER, STRANGER)))
    paid = ledger.add(page=page_of(STRANGER, STRANGER, STRANGER), submitted=[SOLVERS[0]], deadline=NOW - 1_200)
    paid.award(SOLVERS[0], at=NOW - 300)
    paid.claims = [
        (AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000),
        (AmountKind.POSTER_REFUND, POSTER, 250_000),
        *((AmountKind.GUARDIAN_FEE, each, 250_000) for each in GUARDIANS[:2]),
        (AmountKind.PROTOCOL_FEE, account("fees"), 250_000),
    ]
    paid.verdicts[0] = replace(paid.verdicts[0], written=None)
    ledger.add(is_published=False, block=4_999)
    ledger.add(page=b"no page")
    ledger.add(page=page_of(f"{STRANGER} ![](https://x.example/y) {'a' * 600}", MIXED, STRANGER))
    ledger.add(page=page_of(STRANGER, STRANGER, STRANGER, deadline=NOW + 9_999))
    return ledger


def words_of(pages: Pages, *paths: str) -> dict[str, set[str]]:
    """Paths that show words outside of the catalogue, with these words."""
    found = {}
    for path in paths:
        answer = pages.get(path)
        if answer.mimetype == "text/plain":  # the exact bytes of a challenge
            continue
        shown = READERS[str(answer.mimetype)](answer.get_data(as_text=True))
        found[path] = {word for text in shown for word in outside(text)} | (
            set() if "«" in answer.get_data(as_text=True) else {"nothing is translated"}
        )
    return {path: words for path, words in found.items() if words}


def test_page__in_another_language__has_no_word_outside_of_the_catalogue(tmp_path: Path) -> None:
    pages = spoken(tmp_path, "de", ledger=lived())
    numbers = range(1, 1 + len(pages.ledger.bounties))
    accounts = (POSTER, *SOLVERS, *GUARDIANS)
    assert words_of(pages, *EVERY_PAGE, *(f"/bounties/{number}" for number in numbers)) == {}
    assert words_of(pages, *(f"/bounties/{number}/feed.atom" for number in numbers)) == {}
    people = [f"/people/{each}{name}" for each in accounts for name in ("", "/feed.atom")]
    assert words_of(pages, *people, "/feed.atom") == {}


def test_page__in_a_rare_state__has_no_word_outside_of_the_catalogue(tmp_path: Path) -> None:
    pages = spoken(tmp_path, "de")
    assert words_of(pages, "/", "/guardians") == {}
    for number in range(25):
        pages.ledger.add(deadline=NOW - 90_000, page=page_of(STRANGER, STRANGER, STRANGER), block=4_980 + number)
    ended = list(pages.ledger.bounties.values())
    judges = {SettlementReason.JUDGED: (1, 2), SettlementReason.QUORUM_NOT_REACHED: (1,)}
    for each, reason in zip(ended, SettlementReason, strict=False):
        each.outcome, each.reason = Outcome.NO_VALID_SUBMISSION, reason
        each.submitted = [] if reason is SettlementReason.NO_SUBMISSIONS else [SOLVERS[0]]
        for number in judges.get(reason, ()):
            each.judge(number, VerdictKind.NO_VALID_SUBMISSION, None, STRANGER, at=NOW - 80_000)
    ended[0].verdicts[0] = replace(ended[0].verdicts[0], written=b"no form")
    shown = ("/?show=all", "/guardians", "/feed.atom", *(f"/bounties/{each.id}" for each in ended))
    assert words_of(pages, *shown, f"/people/{GUARDIANS[1]}") == {}
    second = re.search(r'rel="next" href="([^"]+)"', pages.get("/?show=all").text)
    assert second is not None
    assert words_of(pages, second[1].replace("&amp;", "&")) == {}
    pages.ledger.halted = "a contradiction"
    assert words_of(pages, "/publish", "/how-it-works", "/?show=decided") == {}


def test_problem__in_another_language__has_no_word_outside_of_the_catalogue(tmp_path: Path) -> None:
    pages = spoken(tmp_path, "de", ledger=lived())
    lists = (
        "/?show=zz&sort=zz&cursor=zz&min_award=zz&from=zz&poster=zz&search=" + "1" * 300,
        "/?min_award=5&max_award=2&from=2031-01-01&until=2030-01-01&solver=0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeE",
        "/?search=1234", "/?show=decided&sort=award",
    )  # fmt: skip
    absent = ("/find", "/find?q=0xzz", "/nothing", "/bounties/0", "/bounties/99", "/?zz=1", "/?%")
    assert words_of(pages, *absent, *lists) == {}
    assert outside("".join(of_html(pages.client.post("/").text))) == set()
    assert outside("".join(of_html(pages.client.get("/glossary", data=b"x").text))) == set()
    pages.clock.at += 3_600
    assert words_of(pages, "/", "/deployment") == {}
    pages.lose_database()
    assert words_of(pages, "/", "/deployment", "/bounties/2", "/bounties/77") == {}
    for error in (ServiceError("rate_limit_reached", "So many."), RuntimeError()):
        with pages.app.test_request_context("/"):
            answer = pages.app.make_response(pages.app.handle_user_exception(error))
            assert outside("".join(of_html(answer.get_data(as_text=True)))) == set()


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
    pages = spoken(tmp_path, language, ledger=lived())
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
    pages, english = spoken(tmp_path, "de", lambda text: text + said, lived()), Pages(lived())
    for path in (*EVERY_PAGE, "/nothing", "/find?q=0xzz", "/?min_award=zz"):
        if not path.endswith(".md"):
            shown = pages.get(path).text
            assert elements(shown) == elements(english.get(path).text), path
            assert said in " ".join(of_html(shown))


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
