"""``poster:publish-fund`` beside an open bounty of the same file or title: a corrected typo is another escrow."""

import secrets
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from bounty_protocol.chain.abi import hub_abi
from bounty_protocol.domain.challenge.commitments import spec_commitment
from service_cli.chain import sender
from service_cli.ui import consent

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Ran, Terminal

CREATED = "publish_fund.bounty_created"
Corrected = Callable[[], int]


@pytest.fixture
def first(ledger: Ledger, poster: Terminal) -> str:
    """The bounty of a page that has a typo."""
    (poster.home / "page.md").write_bytes(ledger.page(seconds=900))
    return str(poster.run("poster:publish-fund", "page.md").last["bounty_id"])


@pytest.fixture
def spent(ledger: Ledger, first: str) -> Corrected:
    """What left the Poster's account since the first escrow."""
    held = int(ledger.token.call("balanceOf", ledger.people.poster.address))
    return lambda: held - int(ledger.token.call("balanceOf", ledger.people.poster.address))


def correct(ledger: Ledger, path: Path, *, title: str | None = None) -> bytes:
    """The same page with another deadline and, if given, another title."""
    page = ledger.page(seconds=1_000) + f"The typo is corrected, in copy {secrets.token_hex(4)}.\n".encode()
    if title is not None:
        lines = [f"title: {title}" if line.startswith("title:") else line for line in page.decode().split("\n")]
        page = "\n".join(lines).encode()
    path.write_bytes(page)
    return page


def agreed(home: Terminal, *words: str, code: int = 0) -> Ran:
    """Fund a page at a terminal whose person says yes to another bounty."""
    with patch.object(consent, "typed_yes", return_value=True):
        return home.run("poster:publish-fund", *words, code=code)


def test_corrected_page_names_its_open_bounty(ledger: Ledger, poster: Terminal, first: str, spent: Corrected) -> None:
    """It funded a second escrow without a word."""
    correct(ledger, poster.home / "page.md", title="Another title")
    ran = poster.run("poster:publish-fund", "./page.md", code=1)
    assert (ran.last["code"], "signing:" in ran.words, spent()) == ("earlier_bounty_open", False, 0)
    assert f"Bounty {first} " in str(ran.last["message"])
    funded = agreed(poster, "page.md").last
    assert (funded["event"], spent()) == (CREATED, ESCROW)
    repeated = poster.run("poster:publish-fund", "page.md").last
    assert (repeated["bounty_id"], spent()) == (funded["bounty_id"], ESCROW)
    repeated = agreed(poster, "page.md").last
    assert (repeated["bounty_id"], spent()) == (funded["bounty_id"], ESCROW)


def test_corrected_page_is_funded_after_the_end(ledger: Ledger, poster: Terminal, first: str, spent: Corrected) -> None:
    correct(ledger, poster.home / "page.md")
    assert poster.run("poster:publish-fund", "page.md", code=1).last["code"] == "earlier_bounty_open"
    ledger.advance_to(ledger.time() + 901)
    ledger.contract.transact(ledger.people.owner.wallet, "settle", int(first))
    correct(ledger, poster.home / "page.md")
    assert (poster.run("poster:publish-fund", "page.md").last["event"], spent()) == (CREATED, ESCROW)


def test_same_title_elsewhere_is_named(
    ledger: Ledger, rpc: RpcProxy, api: ApiTwin, first: str, spent: Corrected, tmp_path: Path
) -> None:
    other = person(ledger, api, rpc, tmp_path / "other", "poster")
    page = correct(ledger, other.home / "copy.md").decode()
    own = next(line.removeprefix("title: ") for line in page.split("\n") if line.startswith("title:")).strip('"')
    api.listed = {"items": [{**api.item(int(first)), "title": f"  {own}"}], "next_cursor": None}
    ran = other.run("poster:publish-fund", "copy.md", code=1)
    assert (ran.last["code"], "signing:" in ran.words, spent()) == ("earlier_bounty_open", False, 0)
    assert f"Bounty {first} " in str(ran.last["message"])
    assert agreed(other, "copy.md").last["event"] == CREATED
    assert other.run("poster:publish-fund", "--again", "copy.md").last["event"] == CREATED
    third = person(ledger, api, rpc, tmp_path / "third", "poster")
    (third.home / "copy.md").write_bytes((other.home / "copy.md").read_bytes())
    assert agreed(third, "copy.md", code=1).last["code"] == "already_funded"


def test_bounty_one_endpoint_ended_is_asked_about(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, first: str, spent: Corrected
) -> None:
    """It silenced the question alone."""
    asked = hub_abi().functions["getBounty"].encode(int(first)).hex()
    not_found = next(error for error in hub_abi().errors.values() if error.name == "BountyNotFound")
    data = f"0x{not_found.selector.hex()}{int(first):064x}"
    unknown: dict[str, object] = {"error": {"code": 3, "message": "execution reverted", "data": data}}
    rpc.before = lambda method, params: unknown if method == "eth_call" and asked in str(params[0]) else None
    correct(ledger, poster.home / "page.md", title="Another title")
    ran = poster.run("poster:publish-fund", "page.md", code=1, SERVICE_RPC_URLS=ledger.node.url)
    assert (ran.last["code"], "signing:" in ran.words, spent()) == ("earlier_bounty_open", False, 0)


def test_invented_title_stops_nobody(ledger: Ledger, rpc: RpcProxy, api: ApiTwin, first: str, poster: Terminal) -> None:
    """A bounty that the Hub does not have, and one of somebody else."""
    page = correct(ledger, poster.home / "other.md").decode()
    own = next(line.removeprefix("title: ") for line in page.split("\n") if line.startswith("title:")).strip('"')
    item = api.item(int(first))
    ids = [str(ledger.bounty_count() + 7), "9223372036854775807"]
    api.listed = {"items": [{**item, "bounty_id": one, "title": own} for one in ids], "next_cursor": None}
    assert poster.run("poster:publish-fund", "other.md").last["event"] == CREATED


@pytest.fixture
def page(ledger: Ledger, poster: Terminal) -> Path:
    path = poster.home / "page.md"
    path.write_bytes(ledger.page(seconds=20_000) + f"This is text {secrets.token_hex(4)}.\n".encode())
    return path


def paid(ledger: Ledger) -> int:
    return int(ledger.token.call("balanceOf", ledger.contract.address))


def test_waiting_first_text_needs_consent(
    ledger: Ledger, rpc: RpcProxy, poster: Terminal, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both were mined: two escrows."""
    first, held = page.read_bytes(), paid(ledger)
    rpc.lose_first_transaction()
    with monkeypatch.context() as patch:
        patch.setattr(sender, "RECEIPT_SECONDS", 0.3)
        assert poster.run("poster:publish-fund", "page.md", code=1).last["code"] == "transaction_pending"
    correct(ledger, page, title="Another title")
    ran = poster.run("poster:publish-fund", "page.md", code=1)
    assert (ran.last["code"], "signing:" in ran.words) == ("earlier_bounty_pending", False)
    assert spec_commitment(first) in str(ran.last["message"])
    page.write_bytes(first)
    assert poster.run("poster:publish-fund", "page.md").last["spec_commitment"] == spec_commitment(first)
    assert paid(ledger) - held == ESCROW
