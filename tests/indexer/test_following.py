"""The copy follows the chain: every kind of event, in order, with where it came from."""

import pytest
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.types import UnixSeconds
from service_api.bounties.bounty_pages import read_bounty_page
from service_common.db import hub_index as t
from service_common.db.hub_reads import (
    read_announced_roster,
    read_bounty,
    read_current_roster,
    read_delivery_keys,
    read_latest_verdicts,
    read_roster,
    read_submission,
)
from sqlalchemy import select

from tests.world import ESCROW, World


@pytest.mark.spec(61, 336)
def test_copy__of_an_awarded_bounty__has_every_step(world: World) -> None:
    bounty_id = world.fund()
    first = world.submit(bounty_id, world.solver(1))
    second = world.submit(bounty_id, world.solver(1))
    other = world.submit(bounty_id, world.solver(2))
    world.advance_to(world.reveal_at(bounty_id))
    world.reject(bounty_id, world.guardian(1))
    for number in (1, 2):
        world.award(bounty_id, world.guardian(number), world.solver(1), second)
    world.contract.transact(world.solver(1), "claim", bounty_id, b"", b"")
    world.index()
    with world.engine("service_api").connect() as connection:
        bounty = read_bounty(connection, bounty_id)
        assert bounty is not None
        assert bounty.ending is not None
        assert bounty.terms.poster == world.people.poster.address
        assert bounty.terms.escrow_amount == ESCROW
        assert bounty.ending.outcome is Outcome.AWARDED
        assert bounty.ending.reason is SettlementReason.JUDGED
        assert bounty.ending.submission_commitment == second
        _, page = read_bounty_page(connection, world.facts(), bounty_id)
        assert (page.bounty, page.roster, page.submission_count) == (bounty, read_roster(connection, 1), 2)
        active = {s.event.solver: s.event.submission_commitment for s in page.submissions}
        assert active == {world.solver(1).address: second, world.solver(2).address: other}
        for oldest, commitment in ((True, first), (False, second)):
            found = read_submission(connection, bounty_id, bounty.ending.winner, oldest=oldest)
            assert found is not None
            assert found.event.submission_commitment == commitment
        verdicts = read_latest_verdicts(connection, bounty_id)
        assert {(v.event.guardian, v.event.kind) for v in verdicts} == {
            (world.guardian(1).address, VerdictKind.AWARDED),
            (world.guardian(2).address, VerdictKind.AWARDED),
        }
        claims = connection.execute(select(t.claims.c.kind, t.claims.c.recipient)).all()
        assert [tuple(row) for row in claims] == [("winner_award", world.solver(1).address)]


def test_announced_roster_is_in_effect_in_time(world: World) -> None:
    owner = world.people.owner.wallet
    _, quorum, accounts, keys, *_ = world.contract.call("getRoster", 1)

    def publish() -> int:
        world.contract.transact(owner, "publishRoster", list(accounts), list(keys), quorum)
        return world.time() + world.hub.terms.publication_delay

    def current(at: int) -> int | None:
        with world.engine("service_api").connect() as connection:
            found = read_current_roster(connection, UnixSeconds(at))
        return None if found is None else found.version

    replaced = publish()
    world.advance_to(world.time() + 10)
    effective = publish()
    world.index()
    with world.engine("service_api").connect() as connection:
        announced = read_announced_roster(connection, world.time())
        assert announced is not None
        assert (announced.version, announced.effective_from) == (3, effective)
        assert read_announced_roster(connection, UnixSeconds(effective)) is None
    assert replaced < effective
    assert [current(at) for at in (replaced, effective - 1, effective)] == [1, 1, 3]
    assert current(world.time()) == world.contract.call("currentRosterVersion")
    world.advance_to(effective)
    assert world.contract.call("currentRosterVersion") == 3


def test_withdrawn_key_leaves_none_until_the_next(world: World) -> None:
    owner, key = world.people.owner.wallet, bytes.fromhex(world.delivery.public_key[2:])
    world.contract.transact(owner, "withdrawDeliveryKey", key)
    world.contract.transact(owner, "publishDeliveryKey", key)
    effective = world.time() + world.hub.terms.publication_delay
    world.index()
    with world.engine("service_delivery").connect() as connection:
        keys = read_delivery_keys(connection, world.time())
        assert (keys.current, keys.paused) == (None, True)
        assert world.contract.call("deliveryKey") == bytes(32)
        assert read_delivery_keys(connection, UnixSeconds(effective - 1)).paused
        assert read_delivery_keys(connection, UnixSeconds(effective)).current == world.delivery.public_key
