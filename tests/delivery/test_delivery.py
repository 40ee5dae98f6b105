"""Wrap, status, retrieve: who may, for which Submission, with which key."""

import base64
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.document import Envelope
from bounty_protocol.types import BountyId
from prometheus_client import REGISTRY
from service_common.db import app as tables
from service_common.db import hub_index
from service_common.jobs import locked
from service_delivery import sweeping
from service_delivery.config import read_config
from service_delivery.hub_witness import HubWitness
from service_delivery.tables import wraps
from sqlalchemy import update
from werkzeug.test import TestResponse

from tests.api.conftest import error_of
from tests.delivery.conftest import Delivery


def wrap_path(bounty_id: BountyId) -> str:
    return f"/api/bounties/{bounty_id}/delivery/wrap"


def body_for(envelope: Envelope, wrapped: str) -> dict[str, str]:
    return {
        "solver_address": envelope.solver_address,
        "submission_commitment": envelope.commitment(),
        "wrapped_key": wrapped,
    }


def exists(delivery: Delivery, bounty_id: BountyId, envelope: Envelope) -> bool:
    response = delivery.client.get(
        f"/api/bounties/{bounty_id}/delivery/status?submission_commitment={envelope.commitment()}"
    )
    assert response.json is not None
    assert set(response.json) == {"exists"}
    return bool(response.json["exists"])


def counted_failures() -> float:
    return REGISTRY.get_sample_value("service_http_outcomes_total", {"result": "failed"}) or 0.0


def refusal(response: TestResponse) -> tuple[int, object]:
    return response.status_code, error_of(response)["code"]


def awarded(delivery: Delivery) -> tuple[BountyId, Envelope, Identity, Envelope]:
    """A finalized award: bounty, winning envelope, its identity, and the losing envelope."""
    world, identity = delivery.world, Identity.generate()
    bounty_id = world.fund()
    winner = delivery.submission(bounty_id, world.solver(1), identity)
    loser = delivery.submission(bounty_id, world.solver(2), Identity.generate())
    world.decide(bounty_id, world.solver(1), winner.commitment())
    world.finalize()
    return bounty_id, winner, identity, loser


@pytest.mark.spec(81, 172, 330)
def test_delivery_key__as_served__is_the_one_on_chain(delivery: Delivery) -> None:
    shown = delivery.client.get("/api/deployment/delivery-key").json
    assert shown is not None
    assert shown["delivery_public_key"] == "0x" + delivery.world.contract.call("deliveryKey").hex()
    assert shown["algorithm"] == "x25519-sealed-box"


@pytest.mark.spec(20, 83, 84, 85, 94, 100, 102, 173, 174, 177, 178, 180, 182, 183, 184, 185, 186, 325, 326, 331)
def test_winning_key_reaches_the_poster(delivery: Delivery) -> None:
    world = delivery.world
    bounty_id, envelope, identity, _ = awarded(delivery)
    retrieve, fresh = f"/api/bounties/{bounty_id}/delivery/retrieve", Identity.generate()
    poster, request = world.people.poster.wallet, {"poster_ephemeral_public_key": fresh.public_key}
    assert refusal(delivery.call(poster, retrieve, request)) == (404, "winning_solution_key_not_found")
    assert exists(delivery, bounty_id, envelope) is False
    assert delivery.wrap(3, envelope, identity).status_code == 201
    assert delivery.wrap(1, envelope, identity).status_code == 200
    assert exists(delivery, bounty_id, envelope) is True
    answer = delivery.call(poster, retrieve, request).json
    assert answer is not None
    assert answer["solver_address"] == world.solver(1).address
    opened = sealed_box.unwrap(answer["wrapped_key"], [fresh], envelope.content_public_key)
    assert opened.secret == identity.secret
    assert not {identity.to_text(), identity.secret.hex()} & set(map(str, answer.values()))
    assert refusal(delivery.call(world.guardian(1), retrieve, request)) == (403, "forbidden")
    assert refusal(delivery.call(world.solver(1), retrieve, request)) == (403, "forbidden")


@pytest.mark.spec(287)
def test_wrap__for_a_retired_key__still_opens(delivery: Delivery) -> None:
    _, envelope, identity, _ = awarded(delivery)
    assert delivery.wrap(1, envelope, identity, delivery.retired).status_code == 201


@pytest.mark.spec(82, 83, 87, 173, 174, 176, 187, 357)
def test_wrap_of_another_key_is_refused(delivery: Delivery) -> None:
    world = delivery.world
    bounty_id, envelope, identity, loser = awarded(delivery)
    good = sealed_box.wrap(identity, world.delivery.public_key)
    for wrapped in (
        sealed_box.wrap(Identity.generate(), world.delivery.public_key),
        sealed_box.wrap(identity, Identity.generate().public_key),
        good[:-4],
        good.rstrip("=") + "!",
        "",
    ):
        response = delivery.call(world.guardian(1), wrap_path(bounty_id), body_for(envelope, wrapped))
        assert refusal(response) == (400, "invalid_winning_solution_delivery")
    malformed: list[object] = [{**body_for(envelope, good), "x": 1}, {"wrapped_key": good}, []]
    for body in malformed:
        response = delivery.call(world.guardian(1), wrap_path(bounty_id), body)
        assert refusal(response) == (400, "invalid_winning_solution_delivery")
    lost = delivery.call(world.guardian(1), wrap_path(bounty_id), body_for(loser, good))
    assert refusal(lost) == (400, "invalid_winning_solution_delivery")
    assert "Read the chain again" in str(error_of(lost)["next_action"])
    stranger = delivery.call(world.solver(2), wrap_path(bounty_id), body_for(envelope, good))
    assert refusal(stranger) == (403, "forbidden")
    assert exists(delivery, bounty_id, envelope) is False


@pytest.mark.parametrize("name", ["wrap", "retrieve"])
def test_first_of_several_mistakes_is_answered(delivery: Delivery, name: str) -> None:
    world, bounty_id = delivery.world, delivery.world.fund()
    world.finalize()
    unknown, known = (f"/api/bounties/{each}/delivery/{name}" for each in (999_999, bounty_id))
    own = world.guardian(1) if name == "wrap" else world.people.poster.wallet
    assert refusal(delivery.send(unknown, b"[]", "Service-Approval none")) == (401, "unauthorized")
    assert refusal(delivery.call(world.solver(3), unknown, [])) == (404, "bounty_not_found")
    assert refusal(delivery.call(world.solver(3), known, [])) == (403, "forbidden")
    assert refusal(delivery.call(own, known, [])) == (400, "invalid_winning_solution_delivery")


def test_altered_envelope_is_not_trusted(delivery: Delivery) -> None:
    bounty_id, envelope, identity, loser = awarded(delivery)
    assert delivery.wrap(1, envelope, identity).status_code == 201
    delivery = delivery.restarted(delivery.world.delivery)  # which remembers nothing
    with delivery.world.engine("service_api").begin() as connection:
        rows = update(tables.submission_envelopes).where(
            tables.submission_envelopes.c.submission_commitment == envelope.commitment()
        )
        connection.execute(rows.values(content=loser.canonical_bytes()))
    assert refusal(delivery.wrap(1, envelope, identity)) == (500, "solver_submission_content_invalid")
    assert exists(delivery, bounty_id, envelope) is False


def test_altered_wrap_is_delivered_again(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    logged = list[dict[str, object]]()
    log = SimpleNamespace(error=lambda _, **fields: logged.append(fields))
    monkeypatch.setattr("service_delivery.wraps.log", log)
    world = delivery.world
    bounty_id, envelope, identity, _ = awarded(delivery)
    retrieve, fresh = f"/api/bounties/{bounty_id}/delivery/retrieve", Identity.generate()
    request = {"poster_ephemeral_public_key": fresh.public_key}
    assert delivery.wrap(1, envelope, identity).status_code == 201
    for altered in (bytes(80), b"", base64.b64decode(sealed_box.wrap(Identity.generate(), world.delivery.public_key))):
        with world.engine("service_delivery").begin() as connection:
            connection.execute(update(wraps).values(wrapped_key=altered))
        assert exists(delivery, bounty_id, envelope) is False
        poster = world.people.poster.wallet
        assert refusal(delivery.call(poster, retrieve, request)) == (404, "winning_solution_key_not_found")
        assert delivery.wrap(2, envelope, identity).status_code == 201
        assert delivery.wrap(3, envelope, identity).status_code == 200
        assert exists(delivery, bounty_id, envelope) is True
        assert delivery.call(poster, retrieve, request).status_code == 200
        named = {"bounty_id": bounty_id, "submission_commitment": envelope.commitment()}
        assert logged == 3 * [named]  # by each that looked at it, for whoever looks for it in the database
        logged.clear()


@pytest.mark.spec(14, 319)
@pytest.mark.parametrize("altered", ["poster", "winner"])
def test_rows_the_hub_contradicts_give_no_key(delivery: Delivery, altered: str) -> None:
    world, stranger = delivery.world, delivery.world.solver(3)
    bounty_id, envelope, identity, _ = awarded(delivery)
    assert delivery.wrap(1, envelope, identity).status_code == 201
    change = {
        "poster": update(hub_index.bounties).values(poster=stranger.address),
        "winner": update(hub_index.finalizations).values(winner=stranger.address),
    }[altered]
    with world.engine("service_indexer").begin() as connection:
        connection.execute(change)
    delivery = delivery.restarted(world.delivery)  # which remembers nothing
    retrieve, request = f"/api/bounties/{bounty_id}/delivery/retrieve", Identity.generate().public_key
    asking = stranger if altered == "poster" else world.people.poster.wallet
    refused = delivery.call(asking, retrieve, {"poster_ephemeral_public_key": request})
    assert refusal(refused) == (503, "bounty_projection_unavailable")


@pytest.mark.spec(85, 94, 102, 108, 109, 184, 326, 375)
def test_retrieve_before_finality_is_refused(delivery: Delivery) -> None:
    world = delivery.world
    identity, bounty_id = Identity.generate(), world.fund()
    envelope = delivery.submission(bounty_id, world.solver(1), identity)
    retrieve, poster = f"/api/bounties/{bounty_id}/delivery/retrieve", world.people.poster.wallet
    request = {"poster_ephemeral_public_key": Identity.generate().public_key}
    world.index()
    failures = counted_failures()
    assert refusal(delivery.call(poster, retrieve, request)) == (503, "bounty_chain_state_unavailable")
    world.finalize()
    assert refusal(delivery.call(poster, retrieve, request)) == (400, "invalid_winning_solution_delivery")
    world.decide(bounty_id, world.solver(1), envelope.commitment())
    early = delivery.call(poster, retrieve, request)  # the Hub has the award, and the index not yet
    assert refusal(early) == (503, "bounty_chain_state_unavailable")
    assert int(early.headers["Retry-After"]) >= 1
    failures = counted_failures()
    world.index()
    assert refusal(delivery.call(poster, retrieve, request)) == (503, "bounty_chain_state_unavailable")
    assert counted_failures() == failures, "the chain needs its time, whoever asks"
    world.finalize()
    for key in ("0x" + "00" * 32, "0x01", "0x" + "ff" * 32):
        response = delivery.call(poster, retrieve, {"poster_ephemeral_public_key": key})
        assert refusal(response) == (400, "invalid_winning_solution_delivery")


def test_wrap_is_not_refused_by_an_index_behind(delivery: Delivery) -> None:
    """The Hub records the Submission, and the index has not seen it for hours."""
    world, identity = delivery.world, Identity.generate()
    bounty_id = world.fund()
    world.finalize()
    envelope = delivery.submission(bounty_id, world.solver(1), identity)
    world.advance_to(world.reveal_at(bounty_id))
    assert refusal(delivery.wrap(1, envelope, identity)) == (503, "bounty_projection_unavailable")


def swept(delivery: Delivery) -> int:
    """How many wraps a sweep deletes."""
    return sweeping.sweep(read_config(delivery.variables), delivery.world.engine("service_delivery"))


def test_sweep_deletes_only_losing_wraps(delivery: Delivery) -> None:
    world = delivery.world
    first, second = Identity.generate(), Identity.generate()
    bounty_id = world.fund()
    winner = delivery.submission(bounty_id, world.solver(1), first)
    loser = delivery.submission(bounty_id, world.solver(2), second)
    world.finalize()
    for envelope, identity in ((winner, first), (loser, second)):
        assert delivery.wrap(1, envelope, identity).status_code == 201
    assert swept(delivery) == 0
    world.decide(bounty_id, world.solver(1), winner.commitment())
    world.finalize()
    assert swept(delivery) == 1
    assert exists(delivery, bounty_id, winner)
    assert not exists(delivery, bounty_id, loser)


def test_sweep_of_no_ending_deletes_nothing(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where an endpoint invented it: the true winner's wrap would be gone."""
    world, identity = delivery.world, Identity.generate()
    bounty_id = world.fund()
    winner = delivery.submission(bounty_id, world.solver(1), identity)
    world.finalize()
    assert delivery.wrap(1, winner, identity).status_code == 201
    world.decide(bounty_id, world.solver(1), winner.commitment())
    world.finalize()
    f = hub_index.finalizations
    with world.engine("service_indexer").begin() as connection:
        its_row = f.c.bounty_id == bounty_id
        connection.execute(update(f).where(its_row).values(winner=world.solver(2).address))
    assert swept(delivery) == 0
    assert exists(delivery, bounty_id, winner)
    monkeypatch.setattr(HubWitness, "require_ending", lambda *_: None)
    assert swept(delivery) == 1


def test_one_process_sweeps_and_survives_faults(delivery: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
    faults, swept = [ChainUnavailable("silent"), RuntimeError("unknown")], list[int]()
    engine = delivery.world.engine("service_delivery")

    def minutes() -> Iterator[bool]:
        with locked(engine, "delivery-sweep") as held:
            assert held
            yield False
        yield from (False, False, False, True)

    def sweep(*_: object) -> None:
        swept.append(len(faults))
        if faults:
            raise faults.pop()

    passing = minutes()
    monkeypatch.setattr(sweeping, "make_engine", lambda *_, **__: engine)
    monkeypatch.setattr(sweeping, "Event", lambda: SimpleNamespace(wait=lambda _: next(passing)))
    monkeypatch.setattr(sweeping, "Thread", lambda target, **_: SimpleNamespace(start=target))
    monkeypatch.setattr(sweeping, "sweep", sweep)
    sweeping.keep_sweeping(read_config(delivery.variables))
    assert swept == [2, 1, 0]


@pytest.mark.spec(179, 187, 357, 360)
@pytest.mark.parametrize("query", ["", "?submission_commitment=", "?submission_commitment=0x12", "?x=1"])
def test_status__without_a_submission__is_400(delivery: Delivery, query: str) -> None:
    response = delivery.client.get(f"/api/bounties/{delivery.world.fund()}/delivery/status{query}")
    assert refusal(response) == (400, "invalid_winning_solution_delivery")
