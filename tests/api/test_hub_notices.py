"""Notices about the Hub at the API: published by anyone, kept where the chain bears them out, shown until their end."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.auth.typed_data import notice_digest
from bounty_protocol.chain.json_rpc import ChainUnavailable, JsonRpc
from bounty_protocol.domain.hub_notice import MOST_NOTICES, HubNotice, NoticeReason, NoticeSignature
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, ChainId, UnixSeconds
from local_stack.contract import Wallet
from prometheus_client import REGISTRY
from service_api.app import make_app
from service_api.dependencies import Dependencies
from service_api.usecases.hub_notices import publish_notice
from service_common.db import app as t
from service_common.db.engine import reading, writing
from sqlalchemy import delete, func, insert, select
from werkzeug.test import TestResponse

from tests import keys
from tests.api.conftest import Service
from tests.api.contract import checked_client
from tests.api.test_faults import FaultyRpc

DAY = 86_400


@pytest.fixture
def api(service: Service) -> Iterator[Service]:
    """No notice is there before or after."""

    def empty() -> None:
        with writing(service.dependencies.engine) as connection:
            connection.execute(delete(t.hub_notices))

    empty()
    yield service
    empty()


def notice_of(
    service: Service, wallet: Wallet, *, after: int = 0, lasts: int = 7 * DAY, reason: str = "hub_flaw", **other: Any
) -> HubNotice:
    """A notice signed by a plain key."""
    world = service.world
    issued_at = UnixSeconds(world.time() - DAY + after)
    notice = HubNotice(
        chain_id=world.chain_id,
        hub_address=world.hub_address,
        signer=Address(wallet.address),
        reason=NoticeReason(reason),
        issued_at=issued_at,
        expires_at=UnixSeconds(issued_at + lasts),
        signature=NoticeSignature("0x00"),
    )
    notice = replace(notice, **other)
    signature = keys.sign(bytes.fromhex(wallet.private_key[2:]), notice_digest(notice))
    return replace(notice, signature=NoticeSignature("0x" + signature.hex()))


def post(service: Service, notice: HubNotice | dict[str, Any]) -> TestResponse:
    value = to_json(notice) if isinstance(notice, HubNotice) else notice
    return service.client.post("/api/hub-notices", json=value)


def shown(service: Service) -> list[dict[str, Any]]:
    """What both reads show, which is the same."""
    status, deployment = (service.get(path).get_json()["hub_notices"] for path in ("/api/status", "/api/deployment"))
    assert status == deployment
    assert isinstance(status, list)
    return status


def published(reason: str) -> float:
    """What the metric counts."""
    return REGISTRY.get_sample_value("service_hub_notices_total", {"reason": reason}) or 0.0


def write(deps: Dependencies, notice: HubNotice) -> None:
    """Put a notice into the table as it is."""
    names = ("hub_address", "signer", "reason", "issued_at", "expires_at", "signature")
    with writing(deps.engine) as connection:
        connection.execute(insert(t.hub_notices).values({name: getattr(notice, name) for name in names}))


def issues(answer: TestResponse) -> list[str]:
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_hub_notice")
    return [issue["path"] for issue in error["issues"]]


def test_notice__of_the_owner__is_shown_until_it_is_over(api: Service) -> None:
    owner = api.world.people.owner.wallet
    assert shown(api) == []
    notice = notice_of(api, owner, lasts=DAY + 100)
    before = published("hub_flaw")
    answer = post(api, notice)
    assert (answer.status_code, answer.get_json()) == (201, to_json(notice))
    assert shown(api) == [to_json(notice)]
    again = post(api, notice)
    assert (again.status_code, again.get_json()) == (200, to_json(notice))
    assert published("hub_flaw") == before + 1
    api.world.finalize_at(notice.expires_at + 1)
    assert shown(api) == []


def test_notice__that_is_later__takes_the_place_of_an_earlier_one_and_never_the_other_way(api: Service) -> None:
    owner = api.world.people.owner.wallet
    first = notice_of(api, owner)
    withdrawn = notice_of(api, owner, after=60, reason="withdrawn", lasts=30 * DAY)
    assert post(api, first).status_code == 201
    assert post(api, withdrawn).status_code == 201
    assert shown(api) == [to_json(withdrawn)]
    replayed = post(api, first)
    assert (replayed.status_code, replayed.get_json()) == (200, to_json(withdrawn))
    same_second = notice_of(api, owner, after=60, reason="other")
    assert post(api, same_second).get_json() == to_json(withdrawn)
    assert shown(api) == [to_json(withdrawn)]


@pytest.mark.attack
def test_notice__that_is_forged_or_of_another_time_or_place__is_refused_by_its_field(api: Service) -> None:
    owner, stranger = api.world.people.owner.wallet, Wallet()
    now = api.world.time()
    good = notice_of(api, owner)
    forged = notice_of(api, stranger)
    assert issues(post(api, forged)) == ["signer"]
    assert issues(post(api, replace(forged, signer=good.signer))) == ["signature"]
    assert issues(post(api, replace(good, reason=NoticeReason.WITHDRAWN))) == ["signature"]
    assert issues(post(api, notice_of(api, owner, chain_id=ChainId(8453)))) == ["chain_id"]
    assert issues(post(api, notice_of(api, owner, hub_address=Address("0x" + "11" * 20)))) == ["hub_address"]
    assert issues(post(api, notice_of(api, owner, lasts=DAY - 1))) == ["expires_at"]
    assert issues(post(api, notice_of(api, owner, lasts=30 * DAY + 1))) == ["expires_at"]
    ahead = UnixSeconds(now + 700)
    assert issues(post(api, notice_of(api, owner, issued_at=ahead, expires_at=UnixSeconds(ahead + 1)))) == ["issued_at"]
    value = to_json(good)
    assert isinstance(value, dict)
    assert issues(post(api, value | {"reason": "send money to 0x1"})) == ["reason"]
    assert issues(post(api, value | {"text": "more"})) == ["text"]
    assert shown(api) == []
    assert post(api, good).status_code == 201


@pytest.mark.attack(f"notices about the Hub: one for each account that may sign them is kept, {MOST_NOTICES} are shown")
def test_notices__posted_a_thousandfold__are_one_row(api: Service) -> None:
    owner, deps = api.world.people.owner.wallet, api.dependencies
    for number in range(50):  # as signed anew by a thief of the account; the budget of requests is another test's
        publish_notice(deps, notice_of(api, owner, after=number))
    again = notice_of(api, owner, after=7)
    for _ in range(50):
        assert not publish_notice(deps, again)[1]
    with reading(deps.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(t.hub_notices)) == 1
    assert [found["issued_at"] for found in shown(api)] == [api.world.time() - DAY + 49]


@pytest.mark.attack
def test_notice__of_an_account_that_lost_its_right__is_shown_no_more(api: Service) -> None:
    world, deps = api.world, api.dependencies
    owner, thief = world.people.owner.wallet, Wallet()
    write(deps, notice_of(api, thief))  # as one that counted before, or was written by whoever reaches the table
    good = notice_of(api, owner)
    assert post(api, good).status_code == 201
    assert shown(api) == [to_json(good)]


@pytest.mark.attack
def test_notice__of_a_key_that_its_account_replaced__keeps_no_place(api: Service) -> None:
    """A Safe's former key signed something later; the Safe takes it no more and signs anew."""
    owner = api.world.people.owner.wallet
    former = notice_of(api, owner, after=DAY + 500, reason="withdrawn", lasts=20 * DAY)
    write(api.dependencies, replace(former, signature=notice_of(api, Wallet()).signature))
    assert shown(api) == []
    good = notice_of(api, owner)
    assert post(api, good).status_code == 201
    assert shown(api) == [to_json(good)]
    assert post(api, former).status_code == 201  # which counts where the key still does
    assert post(api, good).get_json() == to_json(former)


def test_notice__while_the_chain_is_silent__cannot_be_brought_and_is_shown_as_it_was_kept(api: Service) -> None:
    good = notice_of(api, api.world.people.owner.wallet)
    assert post(api, good).status_code == 201
    silent = replace(api.dependencies)
    silent.__dict__["notice_rpc"] = FaultyRpc(ChainUnavailable())
    there = replace(api, client=checked_client(make_app(silent)))
    refused = post(there, notice_of(api, api.world.people.owner.wallet, after=1))
    assert (refused.status_code, refused.get_json()["error"]["code"]) == (503, "bounty_chain_state_unavailable")
    assert there.get("/api/status").get_json()["hub_notices"] == [to_json(good)]


def test_notice__that_no_wallet_of_the_chain_signed__costs_no_call_of_its_signer(api: Service) -> None:
    """The signer's code runs only once the owner has named it."""

    class Counting(JsonRpc):
        def __init__(self) -> None:
            super().__init__(["http://unused.invalid"])
            self.called: list[str] = []

        def call(self, method: str, *params: Any) -> object:
            self.called.append(params[0]["to"])
            return api.dependencies.rpc.call(method, *params)

    counting = Counting()
    deps: Dependencies = replace(api.dependencies)
    deps.__dict__["notice_rpc"] = counting
    stranger = notice_of(api, Wallet())
    there = replace(api, client=checked_client(make_app(deps)))
    assert issues(post(there, stranger)) == ["signer"]
    owner = api.world.people.owner.wallet.address
    assert counting.called == [api.world.hub_address, owner]
    assert json.dumps(counting.called).count(stranger.signer) == 0
