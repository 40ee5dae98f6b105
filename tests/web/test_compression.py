"""Text leaves the pages compressed for who takes it, and for nobody else."""

import gzip

import brotli
import pytest

from tests.web.conftest import Pages

PATHS = ("/", "/bounties/1", "/glossary", "/feed.atom")
BROWSER = "gzip, deflate, br, zstd"


@pytest.fixture
def pages() -> Pages:
    pages = Pages()
    for _ in range(6):
        pages.ledger.add()
    return pages


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [(BROWSER, "br"), ("gzip", "gzip"), ("br;q=0, gzip", "gzip"), ("*", "br"), ("", None), ("identity, br;q=0", None)],
)
def test_text__for_who_takes_it__is_compressed_and_the_same(
    pages: Pages, path: str, accepted: str, encoding: str | None
) -> None:
    plain = pages.get(path)
    answer = pages.get(path, **{"Accept-Encoding": accepted})
    assert answer.headers.get("Content-Encoding") == encoding
    assert "Accept-Encoding" in answer.headers["Vary"]
    read = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}[encoding]
    assert read(answer.data) == plain.data
    assert answer.content_length == len(answer.data)
    assert (len(answer.data) < 0.6 * len(plain.data)) == (encoding is not None)


def test_version__that_a_browser_has_compressed__is_confirmed_without_a_body(pages: Pages) -> None:
    etag = pages.get("/glossary", **{"Accept-Encoding": BROWSER}).headers["ETag"]
    assert etag.startswith("W/")
    answer = pages.get("/glossary", **{"Accept-Encoding": BROWSER, "If-None-Match": etag})
    assert (answer.status_code, answer.data) == (304, b"")
    assert pages.get("/glossary", **{"If-None-Match": etag.removeprefix("W/")}).status_code == 304


@pytest.mark.parametrize("path", ["/robots.txt"])
def test_answer__that_is_no_text_or_short__goes_as_it_is(pages: Pages, path: str) -> None:
    assert "Content-Encoding" not in pages.get(path, **{"Accept-Encoding": BROWSER}).headers


def test_problem__of_many_addresses__is_that_of_each(pages: Pages) -> None:
    for path in ("/assets/a.js", "/assets/b.js", "/nowhere"):
        answer = pages.get(path, **{"Accept-Encoding": BROWSER})
        assert answer.status_code == 404
        assert b"There is no such page" in brotli.decompress(answer.data)
