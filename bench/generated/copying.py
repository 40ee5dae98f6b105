"""An index of a generated chain, made by the indexer's own follower and writer in a database of its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.types import BlockNumber
from service_api.bounties.searching import folded_page
from service_indexer.follower import Follower
from service_indexer.writer import Writer

from bench.generated.bounties import CHAIN, HUB, Population
from bench.generated.chain import GeneratedChain, Spent
from bench.watching.memory import resident
from tests.servers import Database

PAGES_AT_ONCE: Final = 10_000
PARTS: Final = 10
"""The copy is timed in so many parts of the same number of blocks."""
_CONNECTIONS: Final = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend'"
_PAGES: Final = "COPY app.challenge_pages (spec_commitment, content, submission_deadline) FROM STDIN"
_SUMMARIES: Final = "COPY app.challenge_summaries (spec_commitment, title, summary, folded, grams) FROM STDIN"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the copy: its events, and what writing them took without what deriving the chain took."""

    events: int
    indexer: Spent
    postgres: float
    """Seconds of the processor of the writer's connection."""

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.indexer.wall

    @property
    def event_cpu(self) -> float:
        """Microseconds of both processors for one event."""
        return (self.indexer.cpu + self.postgres) / self.events * 1_000_000


@dataclass(frozen=True, slots=True)
class Copied:
    """An index of a whole generated chain. ``peak``: the most memory of this process until then, in MB."""

    population: Population
    database: Database
    parts: tuple[Part, ...]
    stored: int
    peak: float

    @property
    def whole(self) -> Part:
        nothing = Spent(0.0, 0.0)
        indexer = sum((part.indexer for part in self.parts), nothing)
        return Part(sum(part.events for part in self.parts), indexer, sum(part.postgres for part in self.parts))


def copy_chain(database: Database, population: Population) -> Copied:
    """Have the indexer copy the chain, then write the pages that people publish."""
    chain, engine = GeneratedChain(population), database.engine("service_indexer")
    writer = Writer(engine, CHAIN, HUB)
    follower = Follower(chain, writer, BlockNumber(0))
    parts = tuple(
        _copy_part(chain, follower, writer, database, chain.last * part // PARTS) for part in range(1, PARTS + 1)
    )
    if _at(writer) != chain.last:
        raise RuntimeError(f"the copy is at block {_at(writer)} of {chain.last}")
    peak = resident()
    _write_pages(database, population)
    with psycopg.connect(database.server.url(database.name), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # as autovacuum does in the end
    return Copied(population, database, parts, database.index_bytes(), peak)


def _copy_part(chain: GeneratedChain, follower: Follower, writer: Writer, database: Database, last: int) -> Part:
    """Step until the copy is at ``last`` or behind it."""
    logs, began, postgres = chain.log_count, Spent.now() - chain.spent, connections_cpu(database)
    while _at(writer) < last and follower.step():
        pass
    return Part(chain.log_count - logs, Spent.now() - chain.spent - began, connections_cpu(database) - postgres)


def _at(writer: Writer) -> BlockNumber:
    position = writer.position()
    return BlockNumber(0) if position is None else position.head.block_number


def connections_cpu(database: Database) -> float:
    """Return seconds of the processor that the connections to a database have used until now."""
    with psycopg.connect(database.server.url()) as connection:
        pids = connection.execute(_CONNECTIONS, [database.name]).fetchall()
    used = [Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0] for (pid,) in pids]
    return sum(map(int, used)) / 1_000_000_000


def _write_pages(database: Database, population: Population) -> None:
    """The pages of all bounties and what lists show of them."""
    with psycopg.connect(database.url("service_api")) as connection, connection.cursor() as cursor:
        for first in range(1, population.bounties + 1, PAGES_AT_ONCE):
            last = min(population.bounties, first + PAGES_AT_ONCE - 1)
            pages = [population.challenge(bounty) for bounty in range(first, last + 1)]
            keyed = [(spec_commitment(page.content), page) for page in pages]
            with cursor.copy(_PAGES) as copy:
                for commitment, page in keyed:
                    copy.write_row((commitment, page.content, page.deadline))
            with cursor.copy(_SUMMARIES) as copy:
                for commitment, page in keyed:
                    kept = folded_page(page.title, page.summary)
                    copy.write_row((commitment, page.title, page.summary, *kept))
