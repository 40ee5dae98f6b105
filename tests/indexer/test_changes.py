"""What the writer keeps beside the facts: totals of all bounties, and the feed of changes."""

import pytest
from service_common.db import hub_index as t
from service_indexer.rebuild import rebuild_copy
from sqlalchemy import Engine, select, text

from tests.indexer.test_rebuild import config_of
from tests.world import ESCROW, World


def newest(engine: Engine) -> dict[str, int]:
    """The newest totals."""
    c = t.totals.c
    with engine.connect() as connection:
        row = connection.execute(select(t.totals).order_by(c.block_number.desc(), c.log_index.desc()).limit(1)).one()
    counts = ("bounties", "awarded", "unawarded", "escrowed", "awards_paid", "refunds_paid")
    return {name: int(getattr(row, name)) for name in counts}


def awarded(world: World) -> int:
    """A bounty that was won."""
    bounty_id = world.fund()
    work = world.submit(bounty_id, world.solver(1))
    world.decide(bounty_id, world.solver(1), work)
    return bounty_id


def test_totals_follow_each_event(world: World) -> None:
    engine = world.engine("service_indexer")
    won, waiting = awarded(world), world.fund()
    world.index()
    funded, paid = {"bounties": 2, "escrowed": 2 * ESCROW}, {"awards_paid": 0, "refunds_paid": 0}
    expected = {**funded, **paid, "awarded": 1, "unawarded": 0}
    assert newest(engine) == expected
    world.contract.transact(world.solver(1), "claim", won, b"", b"")
    world.advance_to(world.reveal_at(waiting))
    world.contract.transact(world.people.poster.wallet, "settle", waiting)
    world.contract.transact(world.people.poster.wallet, "claimRefund", waiting)
    world.finalize()
    c = t.claims.c
    with engine.connect() as connection:
        claims = connection.execute(select(c.kind, c.amount).order_by(c.kind)).all()
    award, refund = (int(row.amount) for row in claims[::-1])  # winner_award, poster_refund
    assert newest(engine) == {**expected, "unawarded": 1, "awards_paid": award, "refunds_paid": refund}
    assert 0 < award < refund == ESCROW


def changes(engine: Engine) -> list[tuple[int, int, int | None]]:
    c = t.changes.c
    with engine.connect() as connection:
        rows = connection.execute(select(c.number, c.block_number, c.log_index).order_by(c.number))
        return [(row.number, row.block_number, row.log_index) for row in rows]


def test_changes_count_up_in_order_of_commit(world: World) -> None:
    engine = world.engine("service_indexer")
    world.finalize()
    world.fund()
    world.index()
    before = changes(engine)
    assert [place for _, *place in before] == sorted(place for _, *place in before)
    tip = before[-1][1]
    world.reorganize(1)
    world.index()
    *kept, (number, last_block, log_index) = changes(engine)
    assert kept == [each for each in before if each[1] < tip]
    assert number > before[-1][0]
    assert (last_block, log_index) == (tip - 1, None)
    world.fund()
    world.index()
    assert changes(engine)[len(kept) + 1][0] > number


def test_changes_stay_if_a_rebuild_is_the_same(world: World) -> None:
    engine = world.engine("service_indexer")
    world.fund()
    world.finalize()
    before = changes(engine)
    rebuild_copy(config_of(world), lambda _: None)
    assert changes(engine) == before


@pytest.mark.parametrize(
    "alter",
    [
        "UPDATE hub_index.logs SET data = topics[1]::bytea WHERE block_number = :block",
        "DELETE FROM hub_index.logs WHERE block_number = :block",
        "DELETE FROM hub_index.changes WHERE block_number = :block",
    ],
    ids=["altered", "gone", "never_told"],
)
def test_rebuild_takes_back_changes_that_differ(world: World, alter: str) -> None:
    engine = world.engine("service_indexer")
    world.fund()
    world.fund()
    second = world.tip()
    world.fund()
    world.finalize()
    before = changes(engine)
    with engine.begin() as connection:
        connection.execute(text(alter), {"block": second})
    rebuild_copy(config_of(world), lambda _: None)
    stayed = [change for change in before if change[1] < second]
    kept, (taken, *again) = changes(engine)[: len(stayed)], changes(engine)[len(stayed) :]
    assert kept == stayed
    assert (taken[1:], taken[0] > before[-1][0]) == ((second - 1, None), True)
    assert [place for _, *place in again] == [place for _, *place in before[len(stayed) :]]
