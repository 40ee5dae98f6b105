"""``poster:publish-fund``: funds once, and only what was read; lies and accidents never move money."""

from pathlib import Path

import pytest
from service_common.domain.commitments import spec_commitment

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.terminal import Terminal


@pytest.fixture
def page(ledger: Ledger, poster: Terminal) -> Path:
    path = poster.home / "bounty_challenge.md"
    path.write_bytes(ledger.page())
    return path


def balance(ledger: Ledger) -> int:
    return int(ledger.token.call("balanceOf", ledger.people.poster.address))


def test_publish_fund__an_honest_deployment__creates_the_bounty_once(
    ledger: Ledger, api: ApiTwin, poster: Terminal, page: Path
) -> None:
    before = balance(ledger)
    ran = poster.run("poster:publish-fund", str(page))
    assert ran.names == ["publish_fund.publication_prepared", "publish_fund.bounty_created"]
    prepared, created = ran.events
    assert prepared == {
        "event": "publish_fund.publication_prepared",
        "spec_commitment": spec_commitment(page.read_bytes()),
        "byte_length": len(page.read_bytes()),
        "poster": ledger.people.poster.address,
        "hub_address": ledger.contract.address,
        "escrow_amount": str(ESCROW),
        "submission_deadline": prepared["submission_deadline"],
    }
    assert set(created) == {"event", "tx_hash", "block_number", "bounty_id", "spec_commitment"}
    assert before - balance(ledger) == ESCROW
    again = poster.run("poster:publish-fund", str(page))
    assert again.events == (created,)
    assert before - balance(ledger) == ESCROW


def test_publish_fund__from_stdin__takes_the_exact_bytes(ledger: Ledger, api: ApiTwin, poster: Terminal) -> None:
    page = ledger.page().replace(b"\n", b"\r\n", 0) + "Ümlaut – ☃\n".encode()
    ran = poster.run("poster:publish-fund", "-", stdin=page)
    assert ran.last["spec_commitment"] == spec_commitment(page)
    assert api.pages[spec_commitment(page)] == page
