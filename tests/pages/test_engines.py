"""Every page loads, runs its script without an error and keeps to the window's width, in whichever engine is chosen.

At night in the tests' own browser, and by the part ``webkit`` in WebKitGTK. What axe and two looks of a page show is
in test_browser.py, which needs the debugger of Chromium.
"""

from collections.abc import Iterator

import pytest

from tests.pages.driver import Browser, browsing
from tests.pages.test_browser import hostile, lived, pages_of, served, visits

pytestmark = pytest.mark.nightly
PATHS = sorted({visit.path for visit in visits()})
NARROW, WIDE = 450, 1_280
"""The first is the narrowest that each engine's window has."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    with served(pages_of(lived())) as found:
        yield found


def seen_on(browser: Browser, url: str) -> tuple[list[int], list[str]]:
    """By how much a page is wider than each window, and what its script and console report."""
    page = browser.open(url)
    overhangs = [page.overhang(width) for width in (NARROW, WIDE)]
    if page.do("has", selector="#connect"):
        page.do("idle")  # its script has looked for a wallet
    findings = page.findings()
    page.close()
    return overhangs, findings


@pytest.mark.parametrize("path", PATHS)
def test_page_loads_and_keeps_its_width(browser: Browser, origin: str, path: str) -> None:
    assert seen_on(browser, origin + path) == ([0, 0], [])


def test_pages__of_hostile_people__keep_their_width(browser: Browser) -> None:
    with served(pages_of(hostile())) as found:
        for number in range(1, 4):
            assert seen_on(browser, f"{found}/bounties/{number}") == ([0, 0], [])
