"""An allowance and the bounty that needs it, which a wallet does as one (EIP-5792): once, whatever the wallet says."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
from demo.bounty import Cast
from demo.examples import challenge_page
from local_stack.contract import Wallet

from tests.cli.liar import without_logs
from tests.cli.lies import listen
from tests.cli.servers import RpcProxy, Server
from tests.e2e.wallet_acts import SEND, SIGN, forward
from tests.e2e.wallet_pages import closed, opened
from tests.e2e.wallet_plays import CREATED, funded
from tests.pages.driver import Browser, Page, TestWallet
from tests.safe.wallet import deploy_multi_send

pytestmark = pytest.mark.nightly

ESCROW: Final = 25_000_000
LONG_SECONDS: Final = 3_600
CREATE: Final = "Create the bounty"


@dataclass(frozen=True)
class Delegated:
    """An account whose code does several calls as one and confirms no signature, with tokens for two escrows."""

    cast: Cast
    wallet: TestWallet
    address: str

    def paid(self) -> int:
        """How much the Hub has taken."""
        return 2 * ESCROW - self.cast.token_balance(self.address)

    def allowed(self) -> int:
        """How much the Hub may still take."""
        stack = self.cast.stack
        return int(stack.hub.token.call("allowance", self.address, stack.hub.hub.address))


@pytest.fixture(scope="module")
def multi_send(cast: Cast) -> str:
    payer = Wallet()
    cast.stack.anvil.fund(payer.address)
    return deploy_multi_send(cast.stack.anvil.w3, payer)


@pytest.fixture
def delegated(cast: Cast, multi_send: str) -> Delegated:
    person, node = Wallet(), cast.stack.anvil
    node.fund(person.address)
    cast.stack.hub.token.transact(cast.stack.people.settler.wallet, "transfer", person.address, 2 * ESCROW)
    node.rpc.call("anvil_setCode", person.address, "0xef0100" + multi_send[2:])
    wallet = TestWallet(person.private_key, node.url, 31_337, batches=multi_send)
    return Delegated(cast, wallet, person.address)


def to_the_bounty(delegated: Delegated, browser: Browser, folder: Path) -> Page:
    """Write a page and have it published; what comes next is the bounty."""
    cast = delegated.cast
    deadline = cast.chain_time() + LONG_SECONDS
    path = challenge_page(folder, submission_deadline=deadline, judging_window_seconds=600, title="Done as one")
    page = opened(cast, browser, delegated.wallet, "/publish")
    page.fill("Page", path.read_text(encoding="utf-8"))
    page.press("Go on")
    page.wait("Publish the page")
    page.press(SIGN)
    return page


def methods(page: Page) -> list[str]:
    """What the wallet was asked since the last look."""
    return [each["method"] for each in page.asked()]


def test_poster__whose_wallet_does_calls_as_one__confirms_allowance_and_bounty_together(
    browser: Browser, delegated: Delegated, tmp_path: Path
) -> None:
    page = to_the_bounty(delegated, browser, tmp_path)
    shown = page.wait(CREATE)
    assert "an allowance of exactly the escrow and the bounty itself, which the wallet does as one" in shown
    assert "approve, then createBounty" in shown
    page.check()
    page.press(SEND)
    page.wait("has its page in a moment")
    assert page.presses() == 4
    signed, sent = page.asked()
    assert signed["method"] == "eth_signTypedData_v4"
    assert (sent["method"], sent["batch"]["atomicRequired"], len(sent["batch"]["calls"])) == (
        "wallet_sendCalls",
        True,
        2,
    )
    closed(page)
    assert (delegated.paid(), delegated.allowed()) == (ESCROW, 0)


def test_batch__whose_answer_was_lost__is_found_and_not_sent_again(
    browser: Browser, delegated: Delegated, tmp_path: Path
) -> None:
    page = to_the_bounty(delegated, browser, tmp_path)
    page.wait(CREATE)
    page.wallet(forgets=True)
    page.press(SEND)
    page.wait_alert("The wallet could not do this.")
    closed(page)
    page = opened(delegated.cast, browser, delegated.wallet, "/publish")
    page.press("Go on")
    page.wait("has its page in a moment")
    assert page.asked() == []
    closed(page)
    assert delegated.paid() == ESCROW


def test_batch__that_never_reached_the_wallet__is_offered_with_what_the_wallet_says(
    browser: Browser, delegated: Delegated, tmp_path: Path
) -> None:
    page = to_the_bounty(delegated, browser, tmp_path)
    page.wait(CREATE)
    page.wallet(loses=True)
    page.press(SEND)
    page.wait_alert("The wallet could not do this.")
    closed(page)
    page = opened(delegated.cast, browser, delegated.wallet, "/publish")
    page.press("Go on")
    page.wait("The wallet says that it knows nothing of it")
    page.press(SEND)
    page.wait("has its page in a moment")
    assert methods(page) == ["wallet_sendCalls"]
    closed(page)
    assert delegated.paid() == ESCROW


def test_batch__asked_for_by_a_browser_that_forgot_it__is_done_once(
    browser: Browser, delegated: Delegated, tmp_path: Path
) -> None:
    page = to_the_bounty(delegated, browser, tmp_path)
    page.wait(CREATE)
    other = to_the_bounty_elsewhere(delegated, browser, tmp_path)
    with delegated.cast.stack.no_blocks():
        page.press(SEND)
        page.wait("Waiting for the chain")
        other.press(SEND)
        other.wait("Waiting for the chain")
    for each in (page, other):
        each.wait("has its page in a moment")
        closed(each)
    assert delegated.paid() == ESCROW


def to_the_bounty_elsewhere(delegated: Delegated, browser: Browser, folder: Path) -> Page:
    """The same page from a browser in which nothing was begun."""
    wallet, url = delegated.wallet, f"{delegated.cast.stack.pages_url}/publish"
    page = browser.open(url, wallet, apart=True)
    page.connect()
    page.fill("Page", next(folder.rglob("*.md")).read_text(encoding="utf-8"))
    page.press("Go on")
    page.wait("Publish the page")
    page.press(SIGN)
    page.wait(CREATE)
    return page


def test_batch__that_failed_for_good__is_offered_again_under_another_name(
    browser: Browser, delegated: Delegated, tmp_path: Path
) -> None:
    page = to_the_bounty(delegated, browser, tmp_path)
    page.wait(CREATE)
    page.wallet(fails_batches=True)
    page.press(SEND)
    page.wait("The wallet says that the earlier attempt failed, and changed nothing.")
    page.wallet(fails_batches=False)
    page.press(SEND)
    page.wait("has its page in a moment")
    _, first, second = page.asked()
    assert first["batch"]["id"] != second["batch"]["id"]
    closed(page)
    assert delegated.paid() == ESCROW


def test_batch__that_the_wallet_waits_for_without_end__is_given_up_by_its_poster_and_paid_once(
    browser: Browser, delegated: Delegated, tmp_path: Path
) -> None:
    """There was no way on, at any visit."""
    page = to_the_bounty(delegated, browser, tmp_path)
    page.wait(CREATE)
    node = delegated.cast.stack.anvil.rpc
    with delegated.cast.stack.no_blocks():
        page.press(SEND)
        page.wait("Waiting for the chain")
        pool: Any = node.call("txpool_content")
        waiting = {sender.lower(): each for sender, each in pool["pending"].items()}
        (sent,) = waiting[delegated.address.lower()].values()
        node.call("anvil_dropTransaction", sent["hash"])
    page.wait("Go on with one after the other")
    page.press("Go on with one after the other")
    page.wait("A creation of this bounty is outstanding")
    page.press("It was cancelled: forget it")
    page.wait("Allow the escrow")
    page.press(SEND)
    page.wait(CREATE)
    page.press(SEND)
    page.wait("has its page in a moment")
    closed(page)
    assert (delegated.paid(), delegated.allowed()) == (ESCROW, 0)


def test_wallet__that_refuses_calls_as_one__is_asked_for_one_after_the_other(
    browser: Browser, delegated: Delegated, tmp_path: Path
) -> None:
    page = to_the_bounty(delegated, browser, tmp_path)
    page.wait(CREATE)
    page.wallet(cannot_batch=True)
    page.press(SEND)
    assert "by two transactions, an allowance of exactly the escrow" in page.wait("Allow the escrow")
    page.press(SEND)
    page.wait(CREATE)
    page.press(SEND)
    page.wait("has its page in a moment")
    assert methods(page) == [
        "eth_signTypedData_v4",
        "wallet_sendCalls",
        "eth_sendTransaction",
        "eth_sendTransaction",
    ]
    closed(page)
    assert (delegated.paid(), delegated.allowed()) == (ESCROW, 0)


def test_bounty__paid_by_an_allowance_that_every_list_lost__is_paid_again_by_nobody_who_is_not_asked(
    browser: Browser, delegated: Delegated, tmp_path: Path
) -> None:
    """Its log was older than a day and the API's index incomplete: the page went straight to a second allowance."""
    page = to_the_bounty(delegated, browser, tmp_path)
    page.wait(CREATE)
    page.press(SEND)
    page.wait("has its page in a moment")
    closed(page)
    cast = delegated.cast
    api, rpc = Server(lambda request: forward(cast.stack.api_base_url, request)), RpcProxy(cast.stack.anvil.url)
    rpc.after = without_logs(CREATED)
    listen(api, funded())
    page = opened(cast, browser, replace(delegated.wallet, rpc_url=rpc.url), "/publish", api)
    page.fill("Page", next(tmp_path.rglob("*.md")).read_text(encoding="utf-8"))
    page.press("Go on")
    page.wait("This page was funded before")
    assert "Funded before as" in page.text("#acting")
    assert page.asked() == []
    closed(page)
    api.close()
    rpc.close()
    assert delegated.paid() == ESCROW
