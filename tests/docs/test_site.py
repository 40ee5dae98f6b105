"""The site that ``./noxw -s docs`` has made: whole, from one origin, and usable from the disk."""

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import pytest

TOP: Final = Path(__file__).parents[2]
SITE: Final = TOP / ".local/site"


class Page(HTMLParser):
    """What a page names: the addresses that it links, those that it loads by itself, and its own places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") not in ("search", "index", "next", "prev"):
            self.loaded.add(given["href"])
        self.loaded |= {given[name] for name in ("src", "poster", "data") if name in given and tag != "a"}
        self.loaded |= {each.split()[0] for each in given.get("srcset", "").split(",") if each.strip()}


@cache
def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def pages() -> Iterator[Path]:
    if not (SITE / "index.html").exists():
        pytest.fail("there is no site: ./noxw -s docs makes it")
    yield from SITE.rglob("*.html")


def test_pages__every_link_within_the_site__leads_somewhere() -> None:
    broken = []
    for path in pages():
        for link in page(path).links | page(path).loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            if not target.exists() or (
                parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).places
            ):
                broken.append((str(path.relative_to(SITE)), link))
    assert broken == []


def test_pages__what_they_load__is_of_the_site_itself() -> None:
    foreign = {
        (path.name, address)
        for path in pages()
        for address in page(path).loaded
        if urlsplit(address).scheme not in ("", "data") or urlsplit(address).netloc
    }
    for path in SITE.rglob("*.css"):
        used = re.findall(r"(?:url\(|@import\s+)['\"]?(https?:|//)", path.read_text(encoding="utf-8"))
        foreign |= {(path.name, address) for address in used}
    assert foreign == set()
