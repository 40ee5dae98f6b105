"""A page that was funded before is not funded again by accident, wherever the first run was."""

from dataclasses import replace
from pathlib import Path

import pytest
from service_cli.chain.session import ChainClient
from service_cli.config.environment import Environment
from service_cli.config.settings import Settings
from service_cli.poster.publishing import bounty_of
from service_common.chain.deployment import deployment_of
from service_common.domain.commitments import spec_commitment
from service_common.types import Address, BlockNumber, ChainId

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import run_killed
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal


@pytest.fixture
def page(ledger: Ledger, poster: Terminal) -> str:
    path = poster.home / "page.md"
    path.write_bytes(ledger.page())
    return str(path)


def test_publish_fund__the_same_page_from_another_machine__is_refused_before_anything_is_signed(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: str, tmp_path: Path
) -> None:
    first = poster.run("poster:publish-fund", page).last["bounty_id"]
    other, before = person(ledger, api, rpc, tmp_path / "other", "poster"), ledger.bounty_count()
    ran = other.run("poster:publish-fund", page, code=1)
    assert ran.last["code"] == "already_funded"
    assert f"bounty {first}" in str(ran.last["message"])
    assert "--again" in str(ran.last["next_action"])
    assert "signing:" not in ran.words
    assert ledger.bounty_count() == before


def test_publish_fund__again__funds_once_more_each_time_it_is_asked(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: str
) -> None:
    before = ledger.bounty_count()
    first = poster.run("poster:publish-fund", page).last["bounty_id"]
    second = poster.run("poster:publish-fund", "--again", page).last["bounty_id"]
    run_killed(poster, rpc, "poster:publish-fund", "--again", page, method="eth_sendRawTransaction", forward=True)
    third = poster.run("poster:publish-fund", "--again", page).last["bounty_id"]  # the one that was killed
    assert len({first, second, third}) == 3
    assert ledger.bounty_count() == before + 3
    assert poster.run("poster:publish-fund", page).last["bounty_id"] == first


def test_check__of_a_page_that_was_funded__names_the_bounties(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, poster: Terminal, page: str
) -> None:
    assert poster.run("poster:publish-fund", "--check", page).last["funded_as"] == []
    first = poster.run("poster:publish-fund", page).last["bounty_id"]
    second = poster.run("poster:publish-fund", "--again", page).last["bounty_id"]
    ran = poster.run("poster:publish-fund", "--check", page)
    assert ran.last["funded_as"] == [first, second]
    assert f"funded already: somebody put money behind this page as bounty {first}, {second}" in ran.words
    mine, other = ledger.people.poster.address, ledger.people.solvers[0].address
    assert poster.run("poster:publish-fund", "--check", "--poster-address", mine, page).last["funded_as"] == [
        first,
        second,
    ]
    ran = poster.run("poster:publish-fund", "--check", "--poster-address", other, page)
    assert ran.last["funded_as"] == []


def test_bounty_of__on_a_public_chain_of_unknown_beginning__is_found_in_the_list_and_checked_on_chain(
    ledger: Ledger, api: ApiTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ChainClient, "is_local", False)
    settings = Settings(Environment(api.variables(), {}), ChainId(31337), None, None)
    bounty, page = ledger.fund()
    poster, commitment = Address(ledger.people.poster.address), spec_commitment(page)
    facts = {"facts": {"spec_commitment": commitment}}
    api.listed = {"items": [{"bounty_id": "1", **facts}, {"bounty_id": str(bounty), **facts}], "next_cursor": None}
    assert bounty_of(ChainClient(settings), poster, commitment) == bounty
    api.listed = {"items": [{"bounty_id": "x", **facts}, {"bounty_id": "999999", **facts}, {}], "next_cursor": None}
    assert bounty_of(ChainClient(settings), poster, commitment) is None
    assert api.server.requests[-1].query.startswith(f"poster_address={poster}&limit=")
    record = deployment_of(ChainId(8453))
    assert record is not None
    known = replace(settings, record=replace(record, hub_address=api.hub.address, deploy_block=BlockNumber(0)))
    assert bounty_of(ChainClient(known), poster, commitment) == bounty
