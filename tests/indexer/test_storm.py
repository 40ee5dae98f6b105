"""A storm of reorgs: after each one, the copy is what a fresh replay of the chain would be.

60 by default, 10,000 in a campaign; SERVICE_CAMPAIGN_SEED repeats one.
"""

import random
from typing import Any

from bounty_protocol.types import BlockNumber, ChainId
from service_common.db import hub_index as t
from service_common.db.hub_reads import Head
from service_indexer.follower import Follower
from service_indexer.projection import project
from service_indexer.writer import Writer
from sqlalchemy import Engine, Table, select

from tests.campaign import FULL, SEED
from tests.fakes.chain import HUB, FakeChain, Storm
from tests.servers import Database

REORGS = 10_000 if FULL else 60
CHAIN_ID = ChainId(31337)
ORIGIN = ("block_number", "block_hash", "log_index", "tx_hash", "time")


def expected(chain: FakeChain) -> dict[str, list[tuple[object, ...]]]:
    """Every row that the chain as it is now projects to."""
    rows: dict[str, list[tuple[object, ...]]] = {table.name: [] for table in t.FACTS}
    totals: dict[str, object] = dict.fromkeys((column.name for column in t.totals.c), 0)
    for header in chain.headers_[1:]:
        for log in chain.logs_[header.hash]:
            for table, row in project(log, header.time):
                rows[table.name].append(tuple(_plain(row[column.name]) for column in table.c))
                if counted(table, row, totals):
                    totals |= {name: row[name] for name in ORIGIN}
                    rows["totals"].append(tuple(_plain(totals[column.name]) for column in t.totals.c))
    number, ended = ([column.name for column in table.c].index("bounty_id") for table in (t.bounties, t.finalizations))
    final = {row[ended] for row in rows["finalizations"]}
    kept = [[column.name for column in t.bounties.c].index(column.name) for column in t.open_bounties.c]
    rows["open_bounties"] = [tuple(row[at] for at in kept) for row in rows["bounties"] if row[number] not in final]
    return {name: sorted(values, key=repr) for name, values in rows.items()}


def counted(table: Table, row: dict[str, Any], totals: dict[str, Any]) -> bool:
    """Whether a row changes the totals, which then have it."""
    if table is t.bounties:
        totals["bounties"] += 1
        totals["escrowed"] += row["escrow_amount"]
    elif table is t.finalizations:
        totals["awarded" if row["outcome"] == 1 else "unawarded"] += 1
    elif table is t.claims:
        paid = {"winner_award": "awards_paid", "poster_refund": "refunds_paid"}
        totals[paid.get(row["kind"], f"{row['kind']}s_paid")] += row["amount"]
    else:
        return False
    return True


def followed(engine: Engine) -> list[tuple[int, int]]:
    """Where the logs are whose changes still hold, in the order of their numbers."""
    c = t.changes.c
    with engine.connect() as connection:
        rows = connection.execute(
            select(c.block_number, c.log_index).where(c.log_index.is_not(None)).order_by(c.number)
        )
        return [(row.block_number, row.log_index) for row in rows]


def actual(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    with engine.connect() as connection:
        return {
            table.name: sorted(
                (tuple(_plain(value) for value in row) for row in connection.execute(select(table))), key=repr
            )
            for table in (*t.FACTS, t.open_bounties)
        }


def _plain(value: object) -> object:
    if isinstance(value, list | tuple):
        return tuple(value)
    if value is None or isinstance(value, str):
        return value
    return bytes(value).hex() if isinstance(value, bytes | memoryview) else int(value)  # type: ignore[call-overload]


def test_storm_of_reorgs_leaves_what_the_chain_says(database: Database) -> None:
    chain = FakeChain(finality_depth=32)
    storm = Storm(chain, random.Random(SEED))
    engine = database.engine("service_indexer")
    writer = Writer(engine, CHAIN_ID, HUB)
    moment, deepest = 0.0, 0
    follower = Follower(chain, writer, BlockNumber(0), monotonic=lambda: moment)

    def head() -> Head:
        position = writer.position()
        assert position is not None
        return position.head

    def follow() -> None:
        nonlocal moment
        moment += storm.dice.choice((0.2, 1.0, 6.0, 40.0))
        while follower.step():
            pass

    for number in range(REORGS):
        storm.grow()
        chain.proves = storm.dice.random() < 0.9
        if storm.dice.random() < 0.8:
            follow()
        deepest = max(deepest, storm.strike())
        storm.grow()
        follow()
        if chain.headers_[-1].number < head().block_number:
            for _ in range(11):  # a chain that got shorter, and not an endpoint that is behind
                moment += 3.0
                while follower.step():
                    pass
        if number % 10 == 0 or number == REORGS - 1:
            found = actual(engine)
            assert found == expected(chain), f"seed {SEED}, reorg {number}"
            assert len(followed(engine)) == len(found["logs"])
            assert followed(engine) == sorted(followed(engine))
        assert head().block_hash == chain.headers_[-1].hash
    assert deepest > 10
