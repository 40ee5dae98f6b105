"""Status and the feed of changes, over an index of their own: reorgs and halts would disturb others."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from service_api.app import make_app
from service_common.db import hub_index as t
from service_common.db.engine import make_engine
from sqlalchemy import Connection, delete, insert, select, update

from tests.api.conftest import Service, another_chain, failed
from tests.api.contract import checked_client
from tests.world import ESCROW


@pytest.fixture(scope="module")
def service(service: Service) -> Iterator[Service]:
    with another_chain(service) as started:
        yield started


def changes(service: Service, after: int = 0, limit: int = 500) -> dict[str, Any]:
    response = service.get(f"/api/changes?after={after}&limit={limit}")
    assert response.status_code == 200, response.text
    page: dict[str, Any] = response.get_json()
    return page


def test_changes_are_every_event_in_order(service: Service) -> None:
    world = service.world
    bounty_id = world.fund()
    commitment = world.submit(bounty_id, world.solver(1))
    world.finalize()
    seen, address, last = [], "/api/changes?limit=2", 0
    while address:
        response = service.get(address)
        page = response.json
        assert page is not None
        seen += page["items"]
        assert page["next_after"] == page["items"][-1]["number"] > last
        last = page["next_after"]
        assert ("Link" in response.headers) is page["has_more"]
        address = response.headers["Link"].split(">")[0][1:] if page["has_more"] else ""
    assert [item["number"] for item in seen] == sorted({item["number"] for item in seen})
    names = [item["event"]["name"] for item in seen if item["event"]]  # none in what a reorg retracted
    assert names[-2:] == ["BountyCreated", "SubmissionRecorded"]
    assert {"RosterPublished", "DeliveryKeyPublished", "FeePolicyChanged"} <= set(names)
    created, submitted = (item["event"] for item in seen[-2:])
    assert created["fields"]["escrow_amount"] == str(ESCROW)
    assert created["bounty_id"] == created["fields"]["bounty_id"] == str(bounty_id)
    assert submitted["fields"]["submission_commitment"] == commitment
    assert submitted["finality"] == "finalized"
    again = changes(service, last)
    assert (again["items"], again["next_after"], again["has_more"]) == ([], last, False)


def test_changes_of_a_reorg_retract_and_go_on(service: Service) -> None:
    world = service.world
    world.finalize()
    known = changes(service)["next_after"]
    world.fund()
    world.index()
    (created,) = changes(service, known)["items"]
    assert created["event"]["finality"] == "unsafe"
    world.reorganize(1)
    world.index()
    (taken,) = changes(service, created["number"])["items"]
    assert taken["kind"] == "retraction"
    assert taken["last_block_number"] < created["event"]["block_number"]
    assert changes(service, known)["items"] == [taken]  # who did not read the event finds nothing of it


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=501", f"after={2**63}", "before=1"])
def test_changes__of_a_malformed_query__are_refused(service: Service, query: str) -> None:
    assert service.get(f"/api/changes?{query}").status_code == 400


def test_number_of_another_index_is_refused(service: Service) -> None:
    response = service.get("/api/changes?after=1000000")
    assert response.status_code == 400
    assert response.get_json()["error"]["issues"][0]["path"] == "after"


def test_status_shows_how_far_and_what_it_holds(service: Service) -> None:
    world = service.world
    before = service.get("/api/status").get_json()["totals"]
    ended, _, waiting = (world.fund() for _ in range(3))
    world.submit(waiting, world.solver(1))
    world.advance_to(world.reveal_at(waiting))
    world.contract.transact(world.people.poster.wallet, "settle", ended)
    world.contract.transact(world.people.poster.wallet, "claimRefund", ended)
    world.finalize()
    response = service.get("/api/status")
    status = response.json
    assert status is not None
    assert (status["state"], status["chain_id"], status["hub_address"]) == (
        "following",
        world.chain_id,
        world.hub_address,
    )
    position, totals = status["position"], status["totals"]
    assert position["block_number"] >= position["finalized_block_number"] > 0
    assert position["tip_block_number"] >= position["block_number"]
    counts = ("bounty_count", "open_count", "unawarded_count")
    assert [totals[name] - before[name] for name in counts] == [3, 2, 1]
    assert totals["accepting_count"] == 0
    assert 2 <= totals["judgeable_count"] <= totals["open_count"]  # one of an earlier test may be past its judging
    assert int(totals["escrow_held"]) - int(before["escrow_held"]) == 2 * ESCROW
    assert int(totals["refunds_paid"]) - int(before["refunds_paid"]) == ESCROW


@contextmanager
def head_put_back(service: Service) -> Iterator[Connection]:
    """The owner's connection to the index, whose head is afterwards what it was."""
    with service.world.database.engine().connect() as connection:
        before = connection.execute(select(t.head)).mappings().one()
        try:
            yield connection
        finally:
            connection.execute(delete(t.head))
            connection.execute(insert(t.head), dict(before))
            connection.commit()


def test_status_shows_announcements_until_in_effect(service: Service) -> None:
    world = service.world
    owner, heir = world.people.owner.wallet, world.solver(2)

    def announced() -> dict[str, Any]:
        world.finalize()
        found = service.get("/api/status").get_json()["announced"]
        assert isinstance(found, dict)
        return found

    assert announced() == {"guardian_roster": None, "delivery_key": None, "new_owner": None}
    world.contract.transact(owner, "publishDeliveryKey", bytes([9]) + bytes(31))
    world.contract.transact(owner, "transferOwnership", heir.address)
    found = announced()
    assert found["delivery_key"] == {
        "delivery_public_key": "0x09" + "00" * 31,
        "effective_from": world.contract.call("announcedDeliveryKey")[1],
    }
    assert (found["guardian_roster"], found["new_owner"]) == (None, heir.address)
    accounts, keys, quorum = (world.contract.call("getRoster", 1)[place] for place in (2, 3, 1))
    world.contract.transact(owner, "publishRoster", accounts, keys, quorum)
    version, effective_from = world.contract.call("announcedRoster")
    roster = announced()["guardian_roster"]
    assert (roster["version"], roster["effective_from"]) == (version, effective_from)
    world.contract.transact(owner, "transferOwnership", "0x" + "00" * 20)
    assert announced()["new_owner"] is None
    world.contract.transact(owner, "transferOwnership", heir.address)
    world.contract.transact(heir, "acceptOwnership")
    assert announced()["new_owner"] is None
    world.contract.transact(heir, "transferOwnership", owner.address)
    world.contract.transact(owner, "acceptOwnership")
    world.await_publication()
    assert announced() == {"guardian_roster": None, "delivery_key": None, "new_owner": None}


def test_status_of_a_late_index_says_so(service: Service) -> None:
    world = service.world
    world.advance_to(world.time() + 10_000)
    assert (service.get("/api/status").json or {})["state"] == "behind"
    world.index()
    with head_put_back(service) as index:
        index.execute(update(t.head).values(halted="by a test"))
        index.commit()
        halted = service.get("/api/status")
        assert (halted.json or {})["state"] == "halted"
        assert "by a test" not in halted.text
        index.execute(delete(t.head))
        index.commit()
        starting = service.get("/api/status").json or {}
        assert (starting["state"], starting["position"], starting["totals"]) == ("starting", None, None)


@pytest.mark.spec(118)
def test_late_index_never_says_a_bounty_is_not_there(service: Service) -> None:
    """Seconds behind, the status says following; what was funded meanwhile may be there. It is the service's failure
    only later.
    """
    world = service.world
    world.finalize()
    began, failures = world.time(), failed()
    world.advance_to(began + 2)
    assert service.get("/api/bounties/987654").status_code == 404
    world.advance_to(began + 8)
    assert (service.get("/api/status").json or {})["state"] == "following"
    answer = service.get("/api/bounties/987654")
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (503, "bounty_projection_unavailable")
    assert 1 <= int(answer.headers["Retry-After"]) <= 10
    assert failed() == failures
    world.advance_to(began + 17)
    assert service.get("/api/bounties/987654").status_code == 503
    assert failed() == failures + 1
    world.index()
    assert service.get("/api/bounties/987654").status_code == 404


def test_status_without_a_database_is_answered(service: Service) -> None:
    nowhere = make_engine("postgresql://nobody@127.0.0.1:1/none", application="test")
    client = checked_client(make_app(replace(service.resources, engine=nowhere)))
    response = client.get("/api/status")
    assert (response.status_code, (response.json or {})["state"]) == (200, "unavailable")
    assert client.get("/api/changes?limit=7").status_code == 503
