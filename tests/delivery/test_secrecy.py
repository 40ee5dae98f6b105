"""Who may get what, and what nobody is told: replays, hostile keys, other people's bounties, the Guardian's name."""

import json

import pytest
from bounty_protocol.crypto import sealed_box
from bounty_protocol.crypto.x25519 import Identity
from prometheus_client import generate_latest
from service_common.web import edge, problems
from sqlalchemy import text

from tests.delivery.conftest import Delivery
from tests.delivery.test_delivery import awarded, body_for, exists, refusal, wrap_path

INVALID = (400, "invalid_winning_solution_delivery")
LOW_ORDER = [
    "00" * 32,
    "01" + "00" * 31,
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]
NOT_CANONICAL = [
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0900000000000000000000000000000000000000000000000000000000000080",
]
MALFORMED: list[object] = [
    None, 7, [], {}, "", "0x", "0x" + "ab" * 31, "0x" + "ab" * 33, "0x" + "zz" * 32, "ab" * 32, " 0x" + "ab" * 32,
]  # fmt: skip


@pytest.mark.spec(85, 183, 187)
def test_malformed_fresh_key_seals_nothing(delivery: Delivery) -> None:
    bounty_id, envelope, identity, _ = awarded(delivery)
    delivery.wrap(1, envelope, identity)
    retrieve, poster = f"/api/bounties/{bounty_id}/delivery/retrieve", delivery.world.people.poster.wallet
    for key in [*("0x" + digits for digits in LOW_ORDER + NOT_CANONICAL), *MALFORMED]:
        answer = delivery.call(poster, retrieve, {"poster_ephemeral_public_key": key})
        assert refusal(answer) == INVALID, key
        assert b"wrapped_key" not in answer.data
    bodies: list[object] = [{}, {"poster_ephemeral_public_key": Identity.generate().public_key, "x": 1}, [], None]
    for body in bodies:
        assert refusal(delivery.call(poster, retrieve, body)) == INVALID


@pytest.mark.spec(102, 182, 326)
def test_other_poster_is_forbidden(delivery: Delivery) -> None:
    world = delivery.world
    bounty_id, envelope, identity, _ = awarded(delivery)
    other = world.people.solvers[2].wallet
    theirs = world.fund(poster=other)
    world.finalize()
    delivery.wrap(1, envelope, identity)
    request = {"poster_ephemeral_public_key": Identity.generate().public_key}
    answer = delivery.call(other, f"/api/bounties/{bounty_id}/delivery/retrieve", request)
    assert refusal(answer) == (403, "forbidden")
    assert refusal(delivery.call(other, f"/api/bounties/{theirs}/delivery/retrieve", request)) == INVALID
    assert refusal(delivery.call(other, "/api/bounties/999/delivery/retrieve", request)) == (404, "bounty_not_found")


@pytest.mark.spec(18, 289, 290, 304, 312)
def test_replayed_request_does_nothing_new(delivery: Delivery) -> None:
    world = delivery.world
    bounty_id, envelope, identity, _ = awarded(delivery)
    poster, fresh = world.people.poster.wallet, Identity.generate()
    body = json.dumps(body_for(envelope, sealed_box.wrap(identity, world.delivery.public_key))).encode()
    header = delivery.header(world.guardian(1), wrap_path(bounty_id), body)
    assert [delivery.send(wrap_path(bounty_id), body, header).status_code for _ in range(2)] == [201, 200]
    retrieve = f"/api/bounties/{bounty_id}/delivery/retrieve"
    asked = json.dumps({"poster_ephemeral_public_key": fresh.public_key}).encode()
    signed = delivery.header(poster, retrieve, asked)
    for _ in range(2):  # whoever repeats it gets what only the Poster's one-time key opens
        answer = delivery.send(retrieve, asked, signed).json
        assert answer is not None
        sealed_box.unwrap(answer["wrapped_key"], [fresh], envelope.content_public_key)
    another = json.dumps({"poster_ephemeral_public_key": Identity.generate().public_key}).encode()
    second = world.fund()
    world.finalize()
    for path, data in ((retrieve, another), (f"/api/bounties/{second}/delivery/retrieve", asked)):
        assert refusal(delivery.send(path, data, signed)) == (401, "unauthorized")
    world.advance_to(world.time() + 301)
    assert refusal(delivery.send(retrieve, asked, signed)) == (401, "unauthorized")


@pytest.mark.spec(99, 175, 381)
def test_wrap_for_nothing_recorded_is_not_stored(delivery: Delivery) -> None:
    world, identity = delivery.world, Identity.generate()
    bounty_id = world.fund()
    never = delivery.submission(bounty_id, world.solver(1), identity, recorded=False)
    replaced = delivery.submission(bounty_id, world.solver(2), Identity.generate())
    world.submit(bounty_id, world.solver(2))
    world.finalize()
    wrapped = sealed_box.wrap(identity, world.delivery.public_key)
    for body in (
        body_for(never, wrapped),
        body_for(replaced, wrapped),
        {**body_for(never, wrapped), "solver_address": world.solver(3).address},
    ):
        answer = delivery.call(world.guardian(1), wrap_path(bounty_id), body)
        assert refusal(answer) == INVALID
        assert "Retry-After" not in answer.headers
    assert not exists(delivery, bounty_id, never)
    unknown = delivery.call(world.guardian(1), wrap_path(world.fund()), body_for(never, wrapped))
    assert refusal(unknown)[0] in {404, 503}  # not indexed yet


@pytest.mark.spec(99, 108, 109, 325)
def test_wrap_waits_for_a_final_change(delivery: Delivery) -> None:
    world, identity = delivery.world, Identity.generate()
    bounty_id = world.fund()
    world.finalize()
    envelope = delivery.submission(bounty_id, world.solver(1), identity)
    world.index()
    assert refusal(delivery.wrap(1, envelope, identity)) == (503, "bounty_chain_state_unavailable")
    world.finalize()
    assert delivery.wrap(1, envelope, identity).status_code == 201


class Recorder:
    """A log that keeps what is written to it, at each level."""

    def __init__(self, written: list[str]) -> None:
        def keep(*words: object, **fields: object) -> None:
            written.append(f"{words} {fields}")

        self.debug = self.info = self.warning = self.error = self.exception = keep


@pytest.mark.spec(181, 278)
def test_delivering_guardian_is_found_nowhere(
    delivery: Delivery, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    for module in (edge, problems):  # what is logged at whatever level, however the process is configured
        monkeypatch.setattr(module, "log", Recorder(written))
    world = delivery.world
    bounty_id, envelope, identity, _ = awarded(delivery)
    good = body_for(envelope, sealed_box.wrap(identity, world.delivery.public_key))
    bad = body_for(envelope, sealed_box.wrap(Identity.generate(), world.delivery.public_key))
    answers = [delivery.call(world.guardian(3), wrap_path(bounty_id), body) for body in (bad, good, good)]
    said = b"".join(answer.data + str(answer.headers).encode() for answer in answers)
    path = f"/api/bounties/{bounty_id}/delivery/status?submission_commitment={envelope.commitment()}"
    said += delivery.client.get(path).data
    printed = capfd.readouterr()
    lines = "".join(written) + printed.out + printed.err
    assert "answered" in lines  # the log is really there to be searched
    with world.engine("service_delivery").connect() as connection:
        rows = connection.execute(text("SELECT * FROM delivery.wraps")).all()
    assert len(rows) == 1
    everything = (said.decode() + lines + generate_latest().decode() + str(rows)).lower()
    assert world.guardian(3).address.lower()[2:] not in everything
    for secret in (identity.secret, world.delivery.secret):
        assert secret.hex() not in everything
