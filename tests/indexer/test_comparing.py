"""The copy compares itself with the chain: a row that is altered is found within a round, and a liar halts nothing."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest
from bounty_protocol.chain.json_rpc import JsonRpc
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BlockNumber, BountyId
from service_common.db import hub_index as t
from service_indexer.comparing import EVERYTHING, ROUND, Comparer
from service_indexer.replay import rebuild_copy
from service_indexer.source import RpcSource
from sqlalchemy import Column, Table, delete, func, insert, select, update

from tests.campaign import FULL, source
from tests.endpoints import Endpoint, endpoint_before
from tests.indexer.test_replay import config_of
from tests.indexer.test_vouching import lives
from tests.world import World

MOST_STEPS = 30


def comparer_of(world: World, *endpoints: Endpoint) -> tuple[Comparer, JsonRpc]:
    """As the follower's job makes it: the last endpoint is queried first."""
    rpc = JsonRpc([each.url for each in endpoints] or [world.node.url])
    rpc.endpoints.succeeded(rpc.endpoints.all[-1], prefer=True)
    chain = RpcSource(rpc, world.hub_address)
    first = BlockNumber(max(1, world.hub.deploy_block))
    return Comparer(world.engine("service_indexer"), world.chain_id, chain, first), rpc


def compare_all(comparer: Comparer) -> set[BountyId]:
    """Until nothing is due; the bounties that are disputed then."""
    found = set[BountyId]()
    for _ in range(MOST_STEPS):
        compared = comparer.step()
        if compared is None:
            return found
        found |= compared.disputed
    raise AssertionError("it does not end")


def head(world: World) -> Any:
    with world.engine("service_indexer").connect() as connection:
        return connection.execute(select(t.head)).one()


def begin_anew(world: World) -> None:
    """As if a week had passed, and nothing was found."""
    with world.engine("service_indexer").begin() as connection:
        connection.execute(delete(t.disputes))
        connection.execute(update(t.head).values(compare_new=0, compare_next=0, disputed=0))


def history(world: World) -> tuple[BountyId, BountyId]:
    """Everything that can happen; two of its bounties."""
    lives(world)
    world.finalize()
    return BountyId(2), BountyId(3)


def columns() -> list[tuple[Table, Column[Any]]]:
    every = [(table, column) for table in t.FACTS if table is not t.totals for column in table.c]
    return every if FULL else source("altered columns").sample(every, 12)


def altered(value: Any) -> Any:
    """Another value of the same kind."""
    match value:
        case None:
            return 1
        case bytes():
            return value + b"\0"
        case list():
            return [*value, "0x" + "00" * 32]
        case str():
            return value[:-1] + ("1" if value[-1] != "1" else "2")
        case _:
            return value + 1_000


@pytest.mark.attack
def test_row__altered_in_any_column_or_gone__is_found_within_a_round(world: World) -> None:
    history(world)
    comparer, _ = comparer_of(world)
    assert compare_all(comparer) == set()
    engine = world.engine("service_indexer")
    tried = 0
    for table, column in columns():
        with engine.begin() as connection:
            kept = [dict(row) for row in connection.execute(select(table)).mappings()]
            if not kept:
                continue
            row = kept[-1]
            place = [table.c[key.name] == row[key.name] for key in table.primary_key]
            connection.execute(update(table).where(*place).values({column.name: altered(row[column.name])}))
        begin_anew(world)
        assert compare_all(comparer) != set(), f"{table.name}.{column.name}"
        with engine.begin() as connection:
            connection.execute(delete(table))
            connection.execute(insert(table), kept)
        tried += 1
    assert tried >= 8
    for table in (t.submissions, t.rosters):
        begin_anew(world)
        with engine.begin() as connection:
            kept = [dict(row) for row in connection.execute(select(table)).mappings()]
            connection.execute(delete(table))
        assert compare_all(comparer) == {
            BountyId(row["bounty_id"]) if "bounty_id" in row else EVERYTHING for row in kept
        }
        with engine.begin() as connection:
            connection.execute(insert(table), kept)
    begin_anew(world)
    assert compare_all(comparer) == set()


def test_disputed_bounty__authorizes_nothing_until_a_rebuild_and_others_go_on(world: World) -> None:
    first, second = history(world)
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(t.bounties).where(t.bounties.c.bounty_id == first).values(poster="0x" + "11" * 20))
    comparer, _ = comparer_of(world)
    assert compare_all(comparer) == {first}
    with world.facts().open() as facts:
        assert facts.bounty(second).bounty_id == second
        assert facts.indexed_bounty(first).bounty_id == first  # what is shown is shown
        with pytest.raises(ServiceError) as refused:
            facts.bounty(first)
        assert refused.value.code == "bounty_projection_unavailable"
    world.writer_lock.close()
    rebuild_copy(config_of(world), lambda _: None)
    with world.facts().open() as facts:
        assert facts.bounty(first).terms.poster == world.people.poster.wallet.address
    assert head(world).disputed == 0


@pytest.fixture
def endpoints(world: World) -> Iterator[list[Endpoint]]:
    with ExitStack() as stack:
        yield [stack.enter_context(endpoint_before(world.node.url)) for _ in range(2)]


Entries = list[dict[str, Any]]


def with_other_data(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {"data": entry["data"][:-1] + "7"} if len(entry["data"]) > 2 else entry


LIES: dict[str, Callable[[Entries], Entries]] = {
    "nothing": lambda _: [],
    "one less": lambda entries: entries[:-1],
    "altered": lambda entries: [with_other_data(entry) for entry in entries],
    "of another branch": lambda entries: [entry | {"blockHash": "0x" + "66" * 32} for entry in entries],
}


@pytest.mark.attack
@pytest.mark.parametrize("lie", LIES)
def test_lying_second_endpoint__is_counted_and_halts_nothing(world: World, endpoints: list[Endpoint], lie: str) -> None:
    history(world)
    endpoints[1].change = lambda method, _params, result: LIES[lie](result) if method == "eth_getLogs" else result
    comparer, rpc = comparer_of(world, *endpoints)
    assert compare_all(comparer) == set()
    assert (rpc.endpoints.all[0].contradictions, rpc.endpoints.all[1].contradictions > 0) == (0, True)
    assert head(world).disputed == 0


def test_endpoint__whose_list_differs_where_nothing_decides__is_not_counted(
    world: World, endpoints: list[Endpoint]
) -> None:
    first, _ = history(world)
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(t.bounties).where(t.bounties.c.bounty_id == first).values(poster="0x" + "11" * 20))
    endpoints[0].change = lambda method, _params, result: None if method == "eth_getBlockReceipts" else result
    comparer, rpc = comparer_of(world, endpoints[0])
    assert compare_all(comparer) == set()
    assert rpc.endpoints.all[0].contradictions == 0
    endpoints[0].change = endpoints[1].change  # it shows receipts again
    begin_anew(world)
    assert compare_all(comparer) == {first}
    assert rpc.endpoints.all[0].contradictions == 0


def test_round__of_all_history__is_made_once_a_week_and_new_blocks_at_once(world: World) -> None:
    history(world)
    comparer, _ = comparer_of(world)
    assert compare_all(comparer) == set()
    assert head(world).compared_at is not None
    assert comparer.step() is None
    before = head(world).finalized_number
    world.submit(world.open_bounties[-1], world.solver(2))
    world.finalize()
    compared = comparer.step()
    assert compared is not None
    assert (compared.first, compared.last) == (before + 1, head(world).finalized_number)
    assert comparer.step() is None
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(t.head).values(compare_began=func.now() - ROUND - timedelta(seconds=1)))
    compared = comparer.step()
    assert compared is not None
    assert compared.first <= world.hub.deploy_block


def test_round__that_is_due_while_blocks_become_final_all_the_time__begins(world: World) -> None:
    history(world)
    comparer, _ = comparer_of(world)
    assert compare_all(comparer) == set()
    with world.engine("service_indexer").begin() as connection:
        connection.execute(update(t.head).values(compare_began=func.now() - ROUND - timedelta(seconds=1)))
    firsts = list[int]()
    for _ in range(2):
        world.finalize()
        compared = comparer.step()
        assert compared is not None
        firsts.append(compared.first)
    assert min(firsts) <= world.hub.deploy_block


def test_round__while_blocks_become_final_all_the_time__goes_on(world: World) -> None:
    history(world)
    comparer, _ = comparer_of(world)
    assert comparer.step() is not None  # four blocks at first
    news = 0
    while head(world).compare_next:
        world.finalize()
        compared = comparer.step()
        assert compared is not None
        news += compared.first > 4
        assert news < MOST_STEPS
