"""An index of a generated chain, made by the indexer's own follower and writer in a database of its own."""

import resource
import time
from dataclasses import dataclass
from typing import Final

import psycopg
from local_stack.postgres import PostgresServer
from local_stack.services import MIGRATOR, ROLES
from service_common.db.migrate import migrate
from service_common.domain.commitments import spec_commitment
from service_common.types import BlockNumber
from service_indexer.follower import advance
from service_indexer.writer import only_writer

from bench.generated.bounties import CHAIN, HUB, Population
from bench.generated.chain import GeneratedChain
from tests.servers import TEMPLATE, Database, DatabaseServer

PAGES_AT_ONCE: Final = 10_000
PARTS: Final = 10
"""The copy is timed in so many parts of the same number of blocks."""
_STORED: Final = (
    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = 'hub_index' AND c.relkind = 'r'"
)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the copy: events written, and the seconds that took without what deriving the chain took."""

    events: int
    seconds: float

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


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
        return Part(sum(part.events for part in self.parts), sum(part.seconds for part in self.parts))


def database_server(server: PostgresServer) -> DatabaseServer:
    """The server with every role, and with a template that is migrated as in a deployment."""
    passwords = {role: server.create_role(role) for role in (MIGRATOR, *ROLES)}
    server.create_database(TEMPLATE, owner=MIGRATOR)
    migrate(server.url(TEMPLATE, user=MIGRATOR, password=passwords[MIGRATOR]))
    return DatabaseServer(server, passwords)


def copy_chain(database: Database, population: Population) -> Copied:
    """Have the indexer copy the chain, then write the pages that people publish."""
    chain, engine, parts = GeneratedChain(population), database.engine("service_indexer"), []
    with only_writer(engine, CHAIN, HUB, chain.headers(BlockNumber(0), BlockNumber(0))[0]) as writer:
        at = events = 0
        for part in range(1, PARTS + 1):
            started = time.perf_counter() - chain.seconds
            while at < chain.last * part // PARTS and advance(chain, writer):
                head = writer.head()
                at = 0 if head is None else head.block_number
            written = chain.logs
            parts.append(Part(written - events, time.perf_counter() - chain.seconds - started))
            events = written
    if at != chain.last:
        raise RuntimeError(f"the copy is at block {at} of {chain.last}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _write_pages(database, population)
    with psycopg.connect(database.server.url(database.name), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")  # as autovacuum does in the end
        stored = connection.execute(_STORED).fetchone()
    return Copied(population, database, tuple(parts), int(stored[0]) if stored else 0, peak)


def _write_pages(database: Database, population: Population) -> None:
    """The pages of all bounties and what lists show of them."""
    with psycopg.connect(database.url("service_api")) as connection, connection.cursor() as cursor:
        for first in range(1, population.bounties + 1, PAGES_AT_ONCE):
            last = min(population.bounties, first + PAGES_AT_ONCE - 1)
            pages = [population.challenge(bounty) for bounty in range(first, last + 1)]
            contents = [page.content for page in pages]
            commitments = [spec_commitment(content) for content in contents]
            with cursor.copy("COPY app.challenge_pages (spec_commitment, content, submission_deadline) FROM STDIN") as copy:
                for commitment, content, page in zip(commitments, contents, pages, strict=True):
                    copy.write_row((commitment, content, page.deadline))
            with cursor.copy("COPY app.challenge_summaries (spec_commitment, title, summary) FROM STDIN") as copy:
                for commitment, page in zip(commitments, pages, strict=True):
                    copy.write_row((commitment, page.title, page.summary))
