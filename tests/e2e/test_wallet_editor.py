"""A challenge page that is written on the page itself, from the first letter to the bounty."""

import os
from datetime import UTC, datetime

import pytest
from bounty_protocol.domain.challenge.page import parse_challenge
from demo.bounty import Cast
from demo.examples import EXAMPLES

from tests.e2e.wallet_acts import GO_ON, SEND, SIGN
from tests.pages.driver import Browser, Page, TestWallet

SECONDS = 7_200
EXAMPLE = parse_challenge((EXAMPLES / "bounty_challenge.md").read_bytes())
SHOTS = os.environ.get("SERVICE_SHOTS")


def opened(cast: Cast, browser: Browser, *, fresh: bool) -> Page:
    person = cast.stack.people.by_name()["poster"]
    wallet = TestWallet(person.wallet.private_key, cast.stack.anvil.url, 31_337)
    page = browser.open(f"{cast.stack.pages_url}/publish", wallet, fresh=fresh, fixed_lots=False)
    page.connect()
    page.wait("nothing is published before you sign")
    return page


@pytest.mark.nightly
def test_form_is_there_again_with_its_wallet(cast: Cast, browser: Browser) -> None:
    """The form that was open was held for ever, as if by another tab, and only a reload ended that."""
    page = opened(cast, browser, fresh=True)
    page.fill("Title", "Kept over both")
    page.wallet(chainId=1)
    page.wallet(chainId=31_337)
    page.press("Connect again")
    page.wait("nothing is published before you sign")
    page.fill("Summary", "Nobody else writes it.")
    assert "Another tab" not in page.text("#acting")
    assert page.findings() == []
    page.close()


def write(page: Page, deadline: int, **changed: str) -> None:
    """Fill in everything but the language and the contact; the browser's clock has UTC."""
    fields = {
        "Title": "Written in fields",
        "Summary": EXAMPLE.summary,
        "Escrow in tUSDC": "25",
        "Deadline": f"{datetime.fromtimestamp(deadline, UTC):%Y-%m-%dT%H:%M}",
        "Judging window": "2",
        "Acceptance criteria": "\n".join(EXAMPLE.acceptance_criteria),
        "Deliverables": "\n".join(EXAMPLE.deliverables),
        "Text": EXAMPLE.body,
    }
    for label, value in (fields | changed).items():
        page.fill(label, value)


def shot(page: Page, name: str) -> None:
    if SHOTS:
        page.do("shot", path=f"{SHOTS}/{name}.png")


def test_page_of_fields_becomes_a_bounty(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, fresh=True)
    page.do("timezone", zone="UTC")
    deadline = cast.chain_time() // 60 * 60 + SECONDS
    write(page, deadline, Text=f"{EXAMPLE.body}\nThe format is TBD.\n")
    line = EXAMPLE.body.rstrip().count("\n") + 3
    shown = page.wait("The winner gets")
    assert "you can claim the escrow back from" in shown
    page.check()
    for width in (1280, 360):
        assert page.overhang(width) == 0
        shot(page, f"editor-{width}")
    page.press(GO_ON)
    page.wait_alert("By the service's rules the page is not ready to publish. See 1 remark below")
    assert f"Line {line}: Holds the placeholder 'TBD'" in page.text()
    assert page.asked() == []
    shot(page, "editor-refused")
    page.fill("Text", EXAMPLE.body)
    page.presses()
    page.press(GO_ON)
    page.wait("Publish the page")
    page.press(SIGN)
    shown = page.wait("Sign the escrow")
    assert "plus the network's fee in ether, which the wallet shows" in shown
    assert "you can claim the escrow back from" in shown
    page.press(SIGN)
    page.wait("Create the bounty")
    page.press(SEND)
    shown = page.wait("will have its page in a moment")
    assert page.presses() == 4
    assert [each["method"] for each in page.asked()] == ["eth_signTypedData_v4"] * 2 + ["eth_sendTransaction"]
    number = shown.rpartition("Bounty ")[2].split()[0]
    view = cast.stack.hub.hub.call("getBounty", int(number))
    assert int(view[3]) == deadline
    assert page.findings() == []
    page.close()


def test_half_written_page_survives_a_reload(cast: Cast, browser: Browser) -> None:
    page = opened(cast, browser, fresh=True)
    page.fill("Title", "Half of it")
    page.press(GO_ON)
    page.wait_alert("Some fields are not filled in yet. See 5 remarks below")
    assert "Write at least one check that two people would decide the same way." in page.text()
    page.fill("Title", "Half of it, edited")
    assert "Write in one line what should be made." not in page.text()
    assert "Write at least one check that two people would decide the same way." in page.text()
    page.fill("Title", "Half of it")
    page.fill("Escrow in tUSDC", "25,50")  # said as it is typed
    page.do("wait_any", texts=["Write an amount in tUSDC such as 25 or 12.50"])
    page.fill("Escrow in tUSDC", "900000000000")
    page.do("wait_any", texts=["Your account holds"])
    page.fill("Escrow in tUSDC", "")
    page.close()
    page = opened(cast, browser, fresh=False)
    assert page.do("value", label="Title") == "Half of it"
    page.press(GO_ON)
    page.wait_alert("Some fields are not filled in yet. See 5 remarks below")
    assert page.findings() == []
    page.close()


def test_page_with_a_private_key_sends_nothing(cast: Cast, browser: Browser) -> None:
    """It was sent while it was written, and then called unsent."""
    page = opened(cast, browser, fresh=True)
    page.fill("Page", "---\n---\n# public key: age1\nAGE-SECRET-KEY-1" + "Q" * 58)
    page.press(GO_ON)
    page.wait_alert("The page holds a private key, which everyone could read.")
    assert not [each for each in page.requests() if "/check" in each]
    assert page.findings() == []
    page.close()
