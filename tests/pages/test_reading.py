"""What the page's script does for a reader: times by the reader's clock with UTC on request, and hashes to copy."""

from collections.abc import Iterator

import pytest

from tests.pages.driver import Browser, Page, browsing
from tests.pages.ledger import Ledger
from tests.pages.test_browser import pages_of, served
from tests.pages.test_pages import awarded

UTC, TOKYO = "15 January 2027, 06:00:00 UTC", "15 January 2027 at 15:00 GMT+9"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    ledger = Ledger()
    awarded(ledger.add())
    with served(pages_of(ledger)) as found:
        yield found


def visited(browser: Browser, url: str, zone: str, *, scripts: bool = True) -> Page:
    page = browser.open(url, scripts=scripts)
    page.do("timezone", zone=zone)
    page.goto(url)
    return page


def test_times_are_by_the_readers_clock(browser: Browser, origin: str) -> None:
    page = visited(browser, f"{origin}/bounties/1", "Asia/Tokyo")
    shown = page.wait(TOKYO)
    assert UTC not in shown
    page.press("Show times in UTC")
    assert TOKYO not in page.wait(UTC)
    page.press("Show times by your clock")
    page.wait(TOKYO)
    assert page.findings() == []
    page.close()


@pytest.mark.parametrize(("zone", "scripts"), [("UTC", True), ("Asia/Tokyo", False)])
def test_times_without_scripts_are_as_written(browser: Browser, origin: str, zone: str, scripts: bool) -> None:
    page = visited(browser, f"{origin}/bounties/1", zone, scripts=scripts)
    assert "Show times" not in page.wait(UTC)
    page.close()


def test_hashes__can_be_copied(browser: Browser, origin: str) -> None:
    page = visited(browser, f"{origin}/bounties/1", "UTC")
    assert page.do("copied", text="Copy").startswith("0x")
    page.wait("Copied")
    assert page.findings() == []
    page.close()
