"""The Markdown of a stranger: whatever it tries, what comes out holds a short list of elements and open links only."""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

import pytest
from html5lib import HTMLParser
from service_api.pages import markdown
from service_api.pages.hostile import outside_link, shortened
from service_api.pages.markdown import render, render_line, sanitized

from tests.pages.conftest import Pages
from tests.pages.hostile_markdown import CASES, LARGE
from tests.pages.ledger import page_of

ELEMENTS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "blockquote", "pre", "code", "em", "strong", "s", "ul", "ol", "li"),
    *("table", "thead", "tbody", "tr", "th", "td", "a", "span"),
}
ATTRIBUTES = {"a": {"href", "rel"}, "ol": {"start"}, "span": {"class"}}
REL = {"nofollow", "ugc", "noopener", "noreferrer", "external"}


def elements(html: str) -> Iterator[Element]:
    """Every element that a browser's parser makes of a fragment."""
    for root in HTMLParser(namespaceHTMLElements=False).parseFragment(html).iter():
        if isinstance(root.tag, str) and root.tag != "DOCUMENT_FRAGMENT":
            yield root


def check_harmless(html: str) -> None:
    for found in elements(html):
        assert found.tag in ELEMENTS, found.tag
        assert set(found.attrib) <= ATTRIBUTES.get(found.tag, set()), found.attrib
        assert found.get("class", "outside") in {"outside", "picture"}
        if found.tag == "a" and "href" in found.attrib:
            assert set(found.get("rel", "").split()) == REL
            assert outside_link(found.get("href", "")) is not None
            parts = urlsplit(found.get("href", ""))
            assert parts.scheme in {"http", "https", "mailto"}
            assert parts.hostname or parts.scheme == "mailto"


def test_corpus_has_a_hundred_cases_of_each_kind() -> None:
    assert len(CASES) >= 100
    assert len(set(CASES.values())) == len(CASES)


@pytest.mark.parametrize("name", CASES)
def test_case__rendered__is_harmless(name: str) -> None:
    check_harmless(render(CASES[name]))
    check_harmless(render_line(CASES[name]))


@pytest.mark.parametrize("name", CASES)
def test_case_is_harmless_by_the_sanitizer_alone(name: str) -> None:
    check_harmless(sanitized(CASES[name]))
    check_harmless(sanitized(f"<div>{CASES[name]}</div><p>{CASES[name] * 2}"))


@pytest.mark.parametrize("name", CASES)
def test_case_without_the_sanitizer_has_no_element(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "sanitized", lambda html: html)
    for found in elements(render(CASES[name])):
        assert found.tag in ELEMENTS
        assert set(found.attrib) <= {"href", "class", "start", "style"}  # cells are aligned by style
        assert found.get("style", "text-align:left").startswith("text-align:")
        if found.tag == "a":
            assert outside_link(found.get("href", "")) is not None


@pytest.mark.parametrize("name", LARGE)
def test_large_case_is_harmless_and_hides_nothing(name: str) -> None:
    made = render(LARGE[name])
    assert "hidden" not in LARGE[name] or "hidden" in made
    assert len(made) < 2 * 1024 * 1024
    if len(made) < 100_000:
        check_harmless(made)


def test_link__to_elsewhere__shows_where_it_leads() -> None:
    made = render("[https://bounties.example](https://attacker.example/x?a=1&b=2)")
    assert 'href="https://attacker.example/x?a=1&amp;b=2"' in made
    assert ">https://bounties.example</a>" in made
    assert '<span class="outside">[attacker.example]</span>' in made


def test_mail_link_shows_all_its_parameters() -> None:
    made = render(
        "[Ask the Poster](mailto:poster@b.example?bcc=x@attacker.example&subject=My%20key&body=Here%20it%20is)"
    )
    assert "[poster@b.example?bcc=x@attacker.example&amp;subject=My key&amp;body=Here it is]</span>" in made


def test_link__to_this_origin_or_nowhere__is_text() -> None:
    for target in ("/deployment", "#content", "?show=all", "deployment", "//attacker.example"):
        assert "<a" not in render(f"[x]({target})")


def test_picture_is_named_and_not_loaded() -> None:
    made = render("![A cat](https://attacker.example/cat.png)")
    assert "picture, not loaded: A cat" in made
    assert "<img" not in made


def test_headings_are_below_the_pages() -> None:
    assert re.findall(r"<(h\d)>", render("# a\n\n#### b\n\n## c\n\n###### d\n")) == ["h3", "h4", "h4", "h5"]
    assert re.findall(r"<(h\d)>", render("###### a\n\n# b\n")) == ["h3", "h3"]


@pytest.mark.parametrize(
    ("address", "target"),
    [
        ("https://a.example/b", "a.example"),
        ("http://A.example:8080/", "a.example:8080"),
        ("mailto:a@b.example", "a@b.example"),
        ("https://xn--ttacker-1fg.example", "xn--ttacker-1fg.example"),
        ("https://аttacker.example", "xn--ttacker-1fg.example"),
        ("https://user@a.example", None),
        ("https://a.example\\@b.example", None),
        ("https:a.example", None),
        ("//a.example", None),
        ("/a", None),
        ("ftp://a.example", None),
        ("https://a.example:99999", None),
        ("https://[::1", None),
        ("https://a\u202eb.example", None),
        ("https://a.example/" + "x" * 2_000, None),
        ("mailto:nobody", None),
        ("mailto:a@b.example?subject=Hi", "a@b.example?subject=Hi"),
        ("mailto:a@b.example?bcc=x%40attacker.example&body=Pay%0Ame", "a@b.example?bcc=x@attacker.example&body=Pay me"),
        ("mailto:a@b.example?body=" + "%20" * 300, "a@b.example?body="),
        ("mailto:a@b.example?body=" + "x%20" * 300, None),
        ("mailto:a@b.example?body=%E2%80%AEevil", "a@b.example?body=[U+202E]evil"),
    ],
)
def test_link_leads_openly_elsewhere_or_is_none(address: str, target: str | None) -> None:
    assert outside_link(address) == target


def test_word__that_nobody_reads__is_cut_and_counted() -> None:
    assert shortened("x" * 499) == "x" * 499
    assert shortened("a " + "x" * 500 + " b") == "a " + "x" * 100 + " […400 more characters without a space] b"
    assert shortened("長" * 3_999) == "長" * 3_999
    assert "more characters" in shortened("長" * 4_000)


def test_title_with_markup_is_text(pages: Pages) -> None:
    pages.ledger.add(page=page_of(title="Pays <script>alert(1)</script>"))
    for path in ("/", "/bounties/1"):
        html = pages.get(path).get_data(as_text=True)
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)" in html
