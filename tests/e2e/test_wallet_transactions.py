"""What may become of a transaction between the wallet and the chain: cancelled, replaced, dropped, sped up, forgotten.

A Guardian's sign of life meets what is lost between two visits. Every step that a transaction does meets the others one
after the other, before it succeeds: one of these steps by default, drawn by SERVICE_CAMPAIGN_SEED, and all of them in a
campaign.
"""

import re
from collections.abc import Callable
from typing import Final

import pytest
from demo.bounty import Cast
from eth_account import Account

from tests.campaign import some
from tests.e2e import wallet_acts
from tests.e2e.wallet_acts import SEND, SIGN, Act, Bounties
from tests.e2e.wallet_pages import closed, no_blocks, opened, send_in_its_place, wallet_of
from tests.pages.driver import Browser, Page, TestWallet

pytestmark = pytest.mark.nightly

SHOWN: Final = "All details"
"""What stands above the button that sends."""
NOT_THERE: Final = "An earlier attempt was begun here and is not on the chain."
AGAIN: Final = "Send it again"


def test_transaction_without_answer_is_found(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, "guardian-3", "/guardians")
    page.wallet(forgets=True)
    page.press("Show that you are active")
    page.wait(SHOWN)
    page.press(SEND)
    page.wait_alert("The wallet could not do this.")
    assert len(page.asked()) == 1
    cast.wait_for(cast.chain_time() + 2)
    page.close()
    page = opened(cast, browser, "guardian-3", "/guardians")
    page.press("Show that you are active")
    page.wait("Recorded.")
    assert page.asked() == []
    page.press("Show that you are active")
    page.wait(SHOWN)
    closed(page)


def test_unsent_transaction_is_offered_with_a_warning(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, "guardian-2", "/guardians")
    page.wallet(loses=True)
    page.press("Show that you are active")
    page.wait(SHOWN)
    page.press(SEND)
    page.wait_alert("The wallet could not do this.")
    page.close()
    page = opened(cast, browser, "guardian-2", "/guardians")
    page.press("Show that you are active")
    page.wait(NOT_THERE)
    page.press(SEND)
    page.wait("Recorded.")
    assert len(page.asked()) == 1
    closed(page)


def send_a_sign_of_life(page: Page) -> dict[str, str]:
    """Begin one and have the wallet send it; gives what it was asked to send."""
    page.press("Show that you are active")
    page.wait(SHOWN)
    page.press(SEND)
    page.wait("Sent as")
    (asked,) = page.asked()
    transaction: dict[str, str] = asked["transaction"]
    return transaction


def test_cancelled_transaction_is_offered_again(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, "guardian-2", "/guardians")
    with no_blocks(cast):
        send_a_sign_of_life(page)
        closed(page)
        send_in_its_place(cast, wallet_of(cast, "guardian-2"), cast.address("guardian-2"), "0x")
    page = opened(cast, browser, "guardian-2", "/guardians")
    page.press("Show that you are active")
    page.press(AGAIN)
    page.wait(NOT_THERE)
    assert page.asked() == []
    page.press(SEND)
    page.wait("Recorded.")
    closed(page)


def test_silent_wallet_need_not_be_waited_for(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, "guardian-3", "/guardians")
    page.wallet(silent=True)
    page.press("Show that you are active")
    page.wait(SHOWN)
    page.press(SEND)
    page.press("Stop waiting")
    page.wait_alert("This page has stopped waiting.")
    page.wallet(silent=False)
    page.press("Show that you are active")
    page.wait(NOT_THERE)
    page.press(SEND)
    page.wait("Recorded.")
    closed(page)


def test_late_answer_takes_no_newer_ones_place(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, "guardian-3", "/guardians")
    cast.wait_for(cast.chain_time() + 1)  # an event of a former test may be in the newest block: it would be found
    page.wallet(late=True)
    page.press("Show that you are active")
    page.wait(SHOWN)
    page.press(SEND)
    page.press("Stop waiting")
    page.wait_alert("This page has stopped waiting.")
    page.wallet(late=False)
    with no_blocks(cast):
        page.press("Show that you are active")
        page.wait(NOT_THERE)
        page.press(SEND)
        (newer,) = re.findall(r"Sent as (0x[0-9a-f]{64})", page.wait("Sent as 0x"))
        page.answer_late()
        closed(page)
        page = opened(cast, browser, "guardian-3", "/guardians")
        page.press("Show that you are active")
        assert f"Sent as {newer}" in page.wait("Sent as 0x")
    page.wait("Recorded.")
    closed(page)


def test_standing_chain_need_not_be_waited_for(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, "guardian-3", "/guardians")
    with no_blocks(cast):
        send_a_sign_of_life(page)
        page.press("Stop waiting")
        page.wait_alert("This page has stopped waiting.")
    page.press("Show that you are active")
    page.wait("Recorded.")
    assert page.asked() == []
    closed(page)


@pytest.fixture(scope="module")
def bounties(cast: Cast, tmp_path_factory: pytest.TempPathFactory) -> Bounties:
    return Bounties(cast, tmp_path_factory.mktemp("steps"))


def of_a_person(act: Callable[[Bounties], Act]) -> Callable[[Bounties], tuple[Act, TestWallet]]:
    def made(bounties: Bounties) -> tuple[Act, TestWallet]:
        found = act(bounties)
        return found, wallet_of(bounties.cast, found.who)

    return made


STEPS: Final = {
    "create": (of_a_person(wallet_acts.publish), "will have its page in a moment"),
    "submit": (of_a_person(wallet_acts.submit), "Your Submission is recorded."),
    "verdict": (of_a_person(wallet_acts.judge), "Your Verdict is recorded"),
    "award": (of_a_person(wallet_acts.claim), "Paid: "),
    "share": (of_a_person(wallet_acts.claim_share), "Paid: "),
    "settle": (of_a_person(wallet_acts.settle), "Settled."),
    "refund": (of_a_person(wallet_acts.refund), "Paid: "),
}
"""Every step that one transaction does but the sign of life: how it is come to, and the text that shows it done."""
CHECKED: Final = {"submit": "Have the upload checked"}
"""Steps before which a request is signed whenever they are sent, also anew: the service may have lost work since."""


@pytest.mark.parametrize("name", some("steps of a transaction", list(STEPS), 1))
def test_disturbed_step_is_done_once(cast: Cast, browser: Browser, bounties: Bounties, name: str) -> None:
    make, done = STEPS[name]
    act, wallet = make(bounties)
    page = opened(cast, browser, wallet, act.path)
    buttons = [text for text in act.buttons if text != SEND]
    reached = page.do("act", buttons=buttons, fields=act.fields, ends=(SHOWN,), patience=60_000)
    assert reached["ended"] == SHOWN, reached
    token, own = cast.stack.hub.token, Account.from_key(wallet.key).address
    page.asked()

    def offered(why: str) -> None:
        if name in CHECKED:
            page.wait(CHECKED[name])
            page.press(SIGN)
        page.wait(why)
        page.asked()

    with no_blocks(cast):
        send(page)
        send_in_its_place(cast, wallet, own, "0x")
    page.press(AGAIN)
    offered(NOT_THERE)
    with no_blocks(cast):
        send(page)
        send_in_its_place(cast, wallet, token.address, token.encode("transfer", own, 0).hex())
    page.press(AGAIN)
    offered(NOT_THERE)
    with no_blocks(cast):
        _, sent = send(page)
        cast.stack.anvil.rpc.call("anvil_dropTransaction", sent)
        page.press(AGAIN)
        offered(NOT_THERE)
    before = cast.stack.anvil.w3.eth.get_transaction_count(own)
    with no_blocks(cast):
        asked, _ = send(page)
        send_in_its_place(cast, wallet, asked["to"], asked["data"])
    page.wait(done)
    assert page.asked() == []
    assert cast.stack.anvil.w3.eth.get_transaction_count(own) == before + 1
    closed(page)


def test_verdict_changed_elsewhere_is_warned_of(cast: Cast, browser: Browser, bounties: Bounties) -> None:
    act = wallet_acts.judge(bounties)
    bounty, _ = bounties.judged()
    page = opened(cast, browser, act.who, act.path)
    page.do("act", buttons=act.buttons[:2], fields=act.fields, ends=("Publish your reasons",), patience=60_000)
    page.asked()
    cast.reject(bounty, act.who, "Nothing holds.")
    page.press(SIGN)
    page.wait("one that finds no valid Submission; this one replaces it")
    assert [each["method"] for each in page.asked()] == ["eth_signTypedData_v4"]
    closed(page)


def send(page: Page) -> tuple[dict[str, str], str]:
    """Have the wallet send what is shown; what it was asked, and the hash."""
    page.press(SEND)
    (sent,) = re.findall(r"Sent as (0x[0-9a-f]{64})", page.wait("Sent as"))
    (asked,) = page.asked()
    transaction: dict[str, str] = asked["transaction"]
    return transaction, sent
