"""The figures of the deployment, and what is shown of them where the API is silent or wrong."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import urllib3
from bounty_protocol.domain.halts import STANDS_STILL_SECONDS
from bounty_protocol.domain.money import AmountKind
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.deployment import Announcements, KeyAnnouncement, RosterAnnouncement

from tests.web.conftest import Pages
from tests.web.fake_api import NOW, POSTER, SOLVERS, account, hash_of
from tests.web.test_pages import STAGES, awarded

Change = Callable[[dict[str, Any]], None]
LACKING = "Parts of this page may be lacking."
UNKNOWN = "What all bounties come to is not known at the moment."


@pytest.fixture
def lived(pages: Pages) -> Pages:
    """A bounty in each stage, and one that was paid."""
    for change in STAGES.values():
        change(pages.ledger.add())
    paid = pages.ledger.add()
    awarded(paid)
    paid.claims = [(AmountKind.WINNER_AWARD, SOLVERS[0], 24_000_000), (AmountKind.PROTOCOL_FEE, SOLVERS[1], 250_000)]
    return pages


def state(pages: Pages, change: Change) -> None:
    """Let the API state something else of the deployment."""

    def alter(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if path != "/api/status":
            return status, body
        found = json.loads(body)
        change(found)
        return status, json.dumps(found).encode()

    pages.api.alter = alter


def without(pages: Pages, *paths: str) -> None:
    """Let the API be silent at these paths."""

    def alter(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        if path in paths:
            raise urllib3.exceptions.ProtocolError("silent")
        return status, body

    pages.api.alter = alter


def test_announcements__of_the_owner__are_on_the_status_page_until_they_are_in_effect(pages: Pages) -> None:
    nothing = "Nothing: roster, delivery key and owner stay as they are."
    assert nothing in pages.text("/deployment")
    pages.ledger.announced = Announcements(
        RosterAnnouncement(7, hash_of("roster"), UnixSeconds(1_800_000_000)),
        KeyAnnouncement(hash_of("key"), UnixSeconds(1_800_003_600)),
        SOLVERS[0],
    )
    shown = pages.text("/deployment")
    assert nothing not in shown
    assert "Next roster version 7, for bounties created from 15 January 2027" in shown
    assert hash_of("key") in shown
    assert "Ownership offered to" in shown
    state(pages, lambda found: found.update(announced=None))
    assert "What is announced is not known at the moment." in pages.text("/deployment")


def test_figures__of_the_deployment__are_on_the_list_and_the_status_page(lived: Pages) -> None:
    figures = "Held in escrow 150.75 USDC Paid out 24.25 USDC"
    assert f"{figures} Open for work 1 Being judged 3 Decided 3" in lived.text("/")
    shown = lived.text("/deployment")
    assert f"{figures}: awards 24 USDC, refunds 0 USDC, fees of Guardians 0 USDC, protocol fees 0.25 USDC" in shown
    assert "Being judged 3 , of which 1 can be judged now Decided 3 : 2 awarded, 1 not awarded" in shown
    assert "Newest block 5,000, less than a minute ago; the newest that the chain showed" in shown
    assert "Reorgs since the index was made 2, the deepest of 3 blocks" in shown
    assert "Version of the API: 1.2.3 . Version of these pages: " in shown
    assert "Everything answers" in shown


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(totals=None),
        lambda found: found["totals"].update(open_count=5),
        lambda found: found["totals"].update(awarded_count=-1, unawarded_count=4),
        lambda found: found["totals"].update(accepting_count=-1),
        lambda found: found["totals"].update(judgeable_count=4),
        lambda found: found["totals"].update(escrow_held="-1"),
        lambda found: found.update(hub_address=account("another hub")),
        lambda found: found.update(chain_id=1),
        lambda found: found.clear(),
    ],
    ids=["none", "sum", "negative", "fewer than none", "parts", "money", "hub", "chain", "empty"],
)
def test_figures__that_cannot_be_true__are_not_known(lived: Pages, change: Change) -> None:
    assert UNKNOWN not in lived.text("/")
    other = Pages(lived.ledger)
    state(other, change)
    for path in ("/", "/deployment"):
        shown = other.text(path)
        assert UNKNOWN in shown
        assert "Held in escrow" not in shown


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(position=None),
        lambda found: found["position"].update(finalized_block_number=5_001),
        lambda found: found["position"].update(block_time=NOW + 86_400),
        lambda found: found["position"].update(finalized_block_time=NOW + 1),
        lambda found: found["position"].update(reorg_count=-1),
    ],
    ids=["none", "finalized", "future", "finalized later", "negative"],
)
def test_position__that_cannot_be_true__is_not_known(lived: Pages, change: Change) -> None:
    state(lived, change)
    shown = lived.text("/deployment")
    assert "How far the index is, is not known at the moment." in shown
    assert "The state of the index is not known" in shown
    assert "Everything answers" not in shown
    assert "Held in escrow" in shown


@pytest.mark.parametrize(
    ("stated", "words"),
    [("following", "Everything answers"), ("behind", "The index is behind"), ("halted", "The index has stopped"),
     ("starting", "The index is being made"), ("unavailable", "The API cannot read its index")],
)  # fmt: skip
def test_health__that_the_api_states__is_said_in_words(lived: Pages, stated: str, words: str) -> None:
    state(lived, lambda found: found.update(state=stated))
    assert words in lived.text("/deployment")


def test_health__stated_better_than_it_is__is_what_is_seen_here(lived: Pages) -> None:
    lived.ledger.head_time = UnixSeconds(NOW - 900)
    state(lived, lambda found: found["position"].update(lag_seconds=0))
    shown = lived.text("/deployment")
    assert "Everything answers" not in shown
    assert "Newest block 5,000, 15 minutes ago" in shown
    lived.ledger.has_errors = True
    state(lived, lambda found: found.update(state="following"))
    lived.ledger.head_time = NOW
    assert '<strong class="tag due">The index has stopped' in lived.get("/deployment").get_data(as_text=True)


def test_chain__without_a_new_block__is_said_on_every_page_and_that_of_publishing(pages: Pages) -> None:
    pages.ledger.add()
    pages.ledger.chain_time = pages.ledger.head_time = UnixSeconds(NOW - STANDS_STILL_SECONDS)
    title = "The chain makes no new block"
    assert title not in pages.text("/bounties/1")
    pages.ledger.chain_time = pages.ledger.head_time = UnixSeconds(NOW - 900)
    for path in ("/", "/bounties/1", "/guardians", f"/people/{POSTER}", "/publish", "/deployment"):
        shown = pages.text(path)
        assert title in shown
        assert "15 minutes ago" in shown
        assert "docs/chain-halts.md" in shown
        assert "The index is behind" not in shown
    assert f"{title} Index" in pages.text("/deployment")  # its own state, too


def test_chain__without_a_new_block_and_an_index_behind_that_one__are_both_said(pages: Pages) -> None:
    pages.ledger.head_time = UnixSeconds(NOW - 1_800)
    pages.ledger.chain_time = UnixSeconds(NOW - 900)
    shown = pages.text("/")
    assert "The chain makes no new block" in shown
    assert "The index is behind the chain" in shown


def test_chain__of_which_nobody_knows__is_said_nothing_of(pages: Pages) -> None:
    pages.ledger.chain_time = None
    shown = pages.text("/")
    assert "The chain makes no new block" not in shown


def test_publish__while_the_api_is_silent__is_there(pages: Pages) -> None:
    without(pages, "/api/status", "/api/deployment", "/subgraph")
    shown = pages.text("/publish")
    assert "Publish a challenge" in shown
    assert "Parts of this page are lacking." in shown


def test_status__that_is_silent__takes_no_page_with_it(lived: Pages) -> None:
    without(lived, "/api/status")
    assert LACKING in lived.text("/guardians")
    assert UNKNOWN in lived.text("/")
    assert "Open for work" in lived.text("/")
    shown = lived.text("/deployment")
    assert "The state of the index is not known" in shown
    assert "Version of the API: not known at the moment" in shown


def test_deployment__without_the_rows_of_the_index__states_what_is_known(lived: Pages) -> None:
    without(lived, "/subgraph")
    shown = lived.text("/deployment")
    assert LACKING in shown  # the index may be late
    assert "Held in escrow" in shown
    assert "Everything answers" not in shown


@pytest.mark.parametrize("version", ["<script>alert(1)</script>", "\u202e1", "\ud800", "9" * 100_000])
def test_version__of_a_hostile_api__is_harmless(lived: Pages, version: str) -> None:
    state(lived, lambda found: found.update(service_version=version))
    answer = lived.get("/deployment")
    assert answer.status_code == 200
    assert b"<script" not in answer.data
    assert "\u202e" not in answer.get_data(as_text=True)
    assert len(answer.data) < 20_000
