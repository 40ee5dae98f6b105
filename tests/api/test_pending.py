"""What strangers have the api keep: a bounded number for each, a bounded sum for all, and room for who pays."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from bounty_protocol.crypto.capsule import seal_capsule
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.domain.envelope.document import Envelope
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.types import bytes32, parse_address
from bounty_protocol.wire.reading import read
from local_stack.contract import Wallet
from service_api.app import make_app
from service_api.deployment.constants import Constants
from service_api.resources import Resources
from service_api.storage.room import ROW_BYTES, Pending, count_pending, settle_pending
from service_api.submissions.prepare_submission import MAX_UNRECORDED
from service_common.db import app as t
from service_common.db.engine import reading, writing
from sqlalchemy import delete, func, select

from tests.api.conftest import Service, error_of, used_by
from tests.api.contract import checked_client
from tests.api.pages import page_for
from tests.api.test_submissions import Sealed, open_bounty, seal


@pytest.fixture(autouse=True)
def nothing_pending(service: Service) -> None:
    with writing(service.resources.engine) as connection:
        connection.execute(delete(t.submission_envelopes))
        connection.execute(delete(t.challenge_pages))


def another(sealed: Sealed) -> Envelope:
    """The same uploaded bytes in another envelope: its capsule is new."""
    world, service = sealed.service.world, sealed.service
    binding = Binding(world.chain_id, world.hub_address, sealed.bounty_id, parse_address(sealed.solver.address))
    detail = service.get(f"/api/bounties/{sealed.bounty_id}").json
    assert detail is not None
    keys = read(Roster, detail["guardian_roster"]).encryption_public_keys
    round_ = sealed.envelope.reveal_policy.round
    capsule = seal_capsule(Identity.generate(), binding, keys, round_, used_by(service.client, Constants).beacon)
    return replace(sealed.envelope, key_capsule=capsule, key_capsule_sha256=bytes32(hashlib.sha256(capsule).digest()))


def with_room_for(service: Service, pending_bytes: int) -> Service:
    """The same api, which keeps so much of a kind; what it counted before is forgotten."""
    deps = service.resources
    deps = replace(deps, config=replace(deps.config, pending_bytes=pending_bytes))
    return replace(service, resources=deps, client=checked_client(make_app(deps)))


def stored(deps: Resources, sealed: Sealed) -> int:
    c = t.submission_envelopes.c
    mine = (c.bounty_id == sealed.bounty_id) & (c.solver == sealed.solver.address)
    with reading(deps.engine) as connection:
        return connection.execute(select(func.count()).where(mine)).scalar_one()


def test_a_byte_is_in_eight_envelopes_at_most(service: Service, tmp_path: Path) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    sealed.upload()
    envelopes = [another(sealed) for _ in range(MAX_UNRECORDED + 1)]
    answers = [sealed.prepare(each) for each in envelopes]
    assert [each.status_code for each in answers] == [201] * MAX_UNRECORDED + [409]
    assert error_of(answers[-1])["code"] == "unrecorded_submissions_limit_reached"
    assert stored(service.resources, sealed) == MAX_UNRECORDED
    assert sealed.prepare(envelopes[0]).status_code == 200  # one that is there can be repeated
    service.world.submit(sealed.bounty_id, sealed.solver, envelopes[-1].commitment())
    service.world.index()
    assert sealed.prepare(envelopes[-1]).status_code == 201  # one that the Hub records always has a place
    assert sealed.prepare(another(sealed)).status_code == 409


def test_envelopes_of_strangers_take_half(service: Service, tmp_path: Path) -> None:
    bounty_id, sealed = open_bounty(service), list[Sealed]()
    for solver in (Wallet(), Wallet(), service.world.solver(2)):  # the chain knows nothing of the first two
        folder = tmp_path / solver.address
        folder.mkdir()
        sealed.append(seal(service, folder, bounty_id, solver))
        assert sealed[-1].upload() == 200
    first, second, funded = sealed
    assert first.prepare().status_code == 201
    taken = count_pending(service.resources.engine, Pending.ENVELOPES)
    half_full = with_room_for(service, 2 * taken)
    refused = replace(second, service=half_full).prepare()
    assert (refused.status_code, error_of(refused)["code"]) == (503, "pending_storage_full")
    assert "solver:submit" in str(error_of(refused)["next_action"])
    assert replace(funded, service=half_full).prepare().status_code == 201
    full = replace(funded, service=with_room_for(service, taken))
    assert full.prepare(another(funded)).status_code == 503
    assert replace(first, service=full.service).prepare().status_code == 200, "one that is here takes no more room"
    service.world.submit(bounty_id, funded.solver, funded.envelope.commitment())
    service.world.index()
    assert full.prepare().status_code == 200


def test_what_the_chain_records_is_counted_no_more(service: Service, tmp_path: Path) -> None:
    sealed = seal(service, tmp_path, open_bounty(service), service.world.solver(1))
    engine, kept = service.resources.engine, another(sealed)
    sealed.upload()
    assert [sealed.prepare(each).status_code for each in (sealed.envelope, kept)] == [201, 201]
    service.world.submit(sealed.bounty_id, sealed.solver, sealed.envelope.commitment())
    service.world.index()
    assert settle_pending(engine) == 1
    assert count_pending(engine, Pending.ENVELOPES) == ROW_BYTES + len(kept.canonical_bytes())


def test_unfunded_pages_are_bounded(service: Service) -> None:
    page = page_for(service.world, title="First")
    roomy = with_room_for(service, len(page))
    assert roomy.publish(page).status_code == 200
    full = with_room_for(service, len(page))
    service.world.node.mine(1)
    refused = full.publish(page_for(service.world, title="Second"))
    assert (refused.status_code, error_of(refused)["code"]) == (503, "pending_storage_full")
    assert full.publish(page).status_code == 200  # a page that is here takes no more room
