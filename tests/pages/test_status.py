"""The figures of the deployment, and what the pages say while chain or index stand still or cannot be read."""

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from bounty_protocol.domain.lifecycle.hub_events import OwnershipTransferStarted
from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import UnixSeconds
from service_common.db import hub_index as h

from tests.pages.conftest import Pages
from tests.pages.ledger import NOW, POSTER, SOLVERS, account, hash_of, origin
from tests.pages.test_pages import STAGES, awarded


@pytest.fixture
def lived(pages: Pages) -> Pages:
    """A bounty in each stage, and one that was paid."""
    for change in STAGES.values():
        change(pages.ledger.add())
    paid = pages.ledger.add()
    awarded(paid)
    paid.claims = [(AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000), (AmountKind.PROTOCOL_FEE, SOLVERS[1], 250_000)]
    return pages


def test_announcements_are_on_the_status_page(pages: Pages) -> None:
    nothing = "Nothing: roster, delivery key and owner stay the same."
    assert nothing in pages.text("/deployment")
    roster = {"version": 2, "guardian_roster_hash": hash_of("roster"), "quorum": 2, "effective_from": NOW + 3_600}
    key = {"key": hash_of("key"), "effective_from": NOW + 3_600}
    offered = hub_abi().event(OwnershipTransferStarted.__name__).topic
    accounts = ["0x" + each[2:].rjust(64, "0") for each in (account("owner"), SOLVERS[0])]
    pages.ledger.more = [
        (h.rosters, {**roster, **origin(4_500, 1, NOW - 60)}),
        (h.delivery_keys, {**key, **origin(4_500, 2, NOW - 60)}),
        (h.logs, {"bounty_id": None, "topics": [offered, *accounts], "data": b"", **origin(4_500, 3, NOW - 60)}),
    ]
    shown = pages.text("/deployment")
    assert nothing not in shown
    assert "Next roster version 2, for bounties created from 15 January 2027" in shown
    assert hash_of("key") in shown
    assert "Ownership offered to" in shown


def test_figures_are_on_list_and_status(lived: Pages) -> None:
    figures = "Held in escrow 150.75 USDC Paid out 24.25 USDC"
    shown = lived.text("/")
    assert figures in shown
    assert "Open for work 1 Being judged 3 Decided 3" in shown
    shown = lived.text("/deployment")
    assert f"{figures}: awards 24 USDC, refunds 0 USDC, fees of Guardians 0 USDC, protocol fees 0.25 USDC" in shown
    assert "Being judged 3 , of which 1 can be judged now Decided 3 : 2 awarded, 1 not awarded" in shown
    assert "Newest block 5,000, less than a minute ago; the newest block seen on chain" in shown
    assert "Reorgs since the index was built 2, the deepest of 3 blocks" in shown
    assert "Version of the API: 0.1.0 . Version of these pages: 0.1.0" in shown
    assert "Everything answers" in shown


def test_standing_chain_is_said_on_every_page(pages: Pages) -> None:
    pages.ledger.add()
    pages.ledger.head_time = UnixSeconds(NOW - STANDS_STILL_SECONDS)
    title = "The chain makes no new blocks"
    assert title not in pages.text("/bounties/1")
    pages.ledger.head_time = UnixSeconds(NOW - 900)
    for path in ("/", "/bounties/1", "/guardians", f"/people/{POSTER}", "/publish", "/deployment"):
        shown = pages.text(path)
        assert title in shown
        assert "15 minutes ago" in shown
        assert "docs/client.md" in shown
        assert "The index is behind" not in shown
    assert f"{title} Index" in pages.text("/deployment")  # its own state, too


def test_chain_nobody_looked_at_is_not_mentioned(pages: Pages) -> None:
    pages.ledger.head_time, pages.ledger.is_behind = UnixSeconds(NOW - 900), True
    shown = pages.text("/")
    assert "The chain makes no new blocks" not in shown
    assert "The index is behind the chain" in shown
    assert '<strong class="tag judging">The index is behind' in pages.get("/deployment").get_data(as_text=True)


def test_pages__without_a_database__say_so() -> None:
    pages = Pages()
    pages.lose_database()
    shown = pages.text("/publish")
    assert "Post a bounty" in shown
    assert "Parts of this page are missing." in shown
    for path in ("/", "/bounties/1", "/deployment", "/feed.atom"):
        answer = pages.client.get(path)
        assert (answer.status_code, answer.mimetype) == (503, "text/html")
        assert int(answer.headers["Retry-After"]) > 0
    assert pages.client.get("/how-it-works").status_code == 200


def test_pages__without_amounts__need_no_chain(pages: Pages) -> None:
    pages.ledger.add()
    del pages.constants["hub"]
    for path in ("/", "/bounties/1", "/feed.atom"):
        assert "Not available at the moment" in pages.text(path, 503)
    for path in ("/guardians", "/publish", "/withheld", "/how-it-works", "/bounties/1/challenge.md"):
        assert pages.get(path).status_code == 200
