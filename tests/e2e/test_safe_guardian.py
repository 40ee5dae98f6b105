"""A Guardian whose account is a Safe: on the roster, and everything it has to do done on the pages."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest
from bounty_protocol.crypto.x25519 import Identity
from demo.bounty import Cast
from local_stack.contract import Wallet

from tests.e2e.wallet_acts import SEND, SIGN, path_of, work_label
from tests.e2e.wallet_pages import choose_keys, closed, opened
from tests.pages.driver import Browser, TestWallet
from tests.safe.wallet import SafeWallet, make_safe
from tests.waiting import wait_until

SUBMISSION_SECONDS: Final = 30
JUDGING_SECONDS: Final = 3_600
FINAL_SECONDS: Final = 30


@pytest.fixture
def guardian(cast: Cast) -> Iterator[tuple[TestWallet, SafeWallet, Identity]]:
    """A Safe that has guardian-1's place on the roster while the test runs, and the keys that open for it."""
    payer = Wallet()
    cast.stack.anvil.fund(payer.address)
    safe = make_safe(cast.stack.anvil.w3, payer)
    first, *others = cast.stack.people.guardians
    assert first.identity is not None
    owners = tuple("0x" + bytes(owner.key).hex() for owner in safe.owners[: safe.threshold])
    wallet = TestWallet(payer.private_key, cast.stack.anvil.url, 31_337, safe.address, owners)
    rest = [(each.address, each.identity) for each in others]
    publish_roster(cast, [(safe.address, first.identity), *rest])
    try:
        yield wallet, safe, first.identity
    finally:
        publish_roster(cast, [(first.address, first.identity), *rest])


def publish_roster(cast: Cast, members: Sequence[tuple[str, Identity | None]]) -> None:
    """Have bounties from now on pin these Guardians."""
    ordered = sorted(members, key=lambda member: int(member[0], 16))
    keys = [bytes.fromhex(identity.public_key[2:]) for _, identity in ordered if identity is not None]
    hub, owner = cast.stack.hub.hub, cast.stack.people.owner.wallet
    hub.transact(owner, "publishRoster", [address for address, _ in ordered], keys, 2)
    cast.wait_for(cast.chain_time() + cast.stack.hub.terms.publication_delay + 1)


def test_safe_as_a_guardian_acts_on_the_pages(
    cast: Cast, browser: Browser, guardian: tuple[TestWallet, SafeWallet, Identity], tmp_path: Path
) -> None:
    wallet, safe, identity = guardian
    keys = tmp_path / "keys.txt"
    keys.write_text(identity.to_text())
    bounty = cast.fund(submission_seconds=SUBMISSION_SECONDS, judging_seconds=JUDGING_SECONDS, title="Judged by a Safe")
    work = cast.submit(bounty, "solver-2", note="Opened by a Safe.")

    page = opened(cast, browser, wallet, "/guardians")
    page.press("Show that you are active")
    page.wait("All details")
    page.press(SEND)
    page.wait("Recorded.")
    closed(page)

    cast.wait_for(bounty.reveal_at)
    page = opened(cast, browser, wallet, path_of(bounty))
    page.begin("Judge")
    page.upload("File with your encryption keys", keys)
    page.press("Open")
    page.wait("Read the sealed work")
    page.press(SIGN)
    page.wait("Save the work")
    page.saved("Save the work")
    closed(page)

    page = opened(cast, browser, wallet, path_of(bounty))
    page.begin("Judge")
    page.wait("Your Verdict")
    page.do("tick", label=work_label(cast, 1, "solver-2"))
    page.fill("Reasons", "# Judged by two owners\n\nEvery criterion holds.")
    page.press("Continue")
    page.wait("Publish your reasons")
    page.press(SIGN)
    page.wait("Record the Verdict on the chain")
    page.press(SEND)
    page.wait("Your Verdict is recorded")
    closed(page)
    cast.award(bounty, "guardian-2", work, "It holds.\n", opened=False)
    cast.wait_for(cast.chain_time() + 4)  # the outcome is final

    page = opened(cast, browser, wallet, path_of(bounty))
    page.press("Deliver the key")
    choose_keys(page, keys)
    page.wait("Read the sealed work")
    page.press(SIGN)
    page.wait("The key of the winning work is delivered")
    page.begin("Claim …")
    page.wait("All details")
    page.press(SEND)
    page.wait("Paid: 0.25 tUSDC")
    closed(page)
    wait_until(lambda: cast.token_balance(safe.address) == 250_000, FINAL_SECONDS)
