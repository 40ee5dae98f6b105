"""A migration while the service goes on: nobody queues behind it, and it gets its way when a table is free."""

import secrets
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import psycopg
import pytest
from local_stack.services import MIGRATOR
from psycopg.errors import LockNotAvailable
from service_common.db import engine
from service_common.db import migrate as module
from service_common.db.migrate import REPORT_SECONDS, SchemaBehind, await_database, await_schema, migrate
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from tests.clocks import HandClock
from tests.servers import NEWEST, DatabaseServer


class Watched(HandClock):
    """Tells when somebody sleeps, and lets it sleep a moment only."""

    def __init__(self) -> None:
        self.slept = Event()

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.slept.set()
        Event().wait(0.02)


@pytest.fixture
def former(database_server: DatabaseServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database at the schema before the newest one; a migration gives a table up after a tenth of a second."""
    monkeypatch.setattr(module, "LOCK_TIMEOUT_MS", 100)
    server, name = database_server.server, f"former_{secrets.token_hex(6)}"
    server.create_database(name, owner=MIGRATOR)
    url = server.url(name, user=MIGRATOR, password=database_server.passwords[MIGRATOR])
    assert migrate(url, revision="0005") == "0005"
    yield url
    server.drop_database(name)


def read(url: str) -> None:
    """As a service reads, with little patience."""
    with psycopg.connect(url, options="-c statement_timeout=2000") as connection:
        connection.execute("SELECT count(*) FROM review.reviews")


def test_migration__of_a_table_that_is_read_for_long__keeps_no_other_reader_waiting_and_succeeds_afterwards(
    former: str,
) -> None:
    clock = Watched()
    with ThreadPoolExecutor(1) as pool, psycopg.connect(former) as reader:
        reader.execute("SELECT count(*) FROM review.reviews")
        migrated = pool.submit(migrate, former, clock=clock)
        assert clock.slept.wait(20)
        for _ in range(20):
            read(former)
        assert not migrated.done()
        reader.rollback()
        assert migrated.result(20) == NEWEST


def test_migration__of_a_table_that_is_never_free__gives_up_and_changes_nothing(former: str) -> None:
    with psycopg.connect(former) as reader:
        reader.execute("SELECT count(*) FROM review.reviews")
        with pytest.raises(OperationalError) as refused:
            migrate(former, clock=Watched(), seconds=2)
    assert isinstance(refused.value.orig, LockNotAvailable)
    assert migrate(former, revision="0005") == "0005"


def test_migration__started_twice_at_once__is_done_once(former: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(migrate, [former] * 4)) == [NEWEST] * 4


def test_migration__that_takes_longer_than_a_service_waits_for_an_answer__goes_on(
    former: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index on a large table takes minutes; here it is the wait for another migration's end that takes long."""
    monkeypatch.setattr(module, "LOCK_TIMEOUT_MS", 20_000)
    monkeypatch.setattr(engine, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(engine, "STATEMENT_TIMEOUT_MS", 200)
    with ThreadPoolExecutor(1) as pool, psycopg.connect(former, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", (module._LOCK,))
        migrated = pool.submit(migrate, former, clock=Watched(), seconds=0)
        Event().wait(0.6)
        assert not migrated.done()
        other.execute("SELECT pg_advisory_unlock(%s)", (module._LOCK,))
        assert migrated.result(20) == NEWEST


def test_migration__of_a_schema_of_a_newer_release__leaves_it_and_ends_well(former: str) -> None:
    with psycopg.connect(former, autocommit=True) as connection:
        connection.execute("UPDATE schema_version SET version_num = '9999'")
    assert migrate(former) == "9999"
    assert await_schema(former, clock=Watched(), seconds=5) == "9999"


def test_waiting__for_a_database_that_refuses__says_why(former: str) -> None:
    wrong = former.replace(":", ":another-", 2).replace("postgresql:another-", "postgresql:", 1)
    with pytest.raises(SchemaBehind, match="password authentication failed"):
        await_schema(wrong, clock=Watched(), seconds=3)
    with pytest.raises(SchemaBehind, match="the database is at schema 0005"):
        await_schema(former, clock=Watched(), seconds=3)


def test_migration__of_an_index_with_open_bounties__gives_each_its_times(former: str) -> None:
    migrate(former, revision="0011")
    with psycopg.connect(former) as writer:
        for bounty in (1, 2, 3):
            writer.execute(_BOUNTY, {"id": bounty, "at": 1_000 * bounty})
        writer.execute(_ENDING, {"id": 2})
    migrate(former)
    with psycopg.connect(former) as reader:
        kept = reader.execute("SELECT * FROM hub_index.open_bounties ORDER BY bounty_id").fetchall()
    assert kept == [(1, 1_001, 1_002, 1_003), (3, 3_001, 3_002, 3_003)]


def test_wheel__of_the_package__holds_every_migration(tmp_path: Path) -> None:
    source = Path(__file__).parents[3] / "libs/service_common"
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=60)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = {name.rpartition("/")[2] for name in archive.namelist() if "/migrations/versions/" in name}
    assert found == {each.name for each in (source / "src/service_common/db/migrations/versions").glob("*.sql")}
    assert found


_BOUNTY = (
    "INSERT INTO hub_index.bounties (bounty_id, poster, spec_commitment, guardian_roster_hash, roster_version,"
    " escrow_amount, protocol_fee, guardian_fee, submission_deadline, reveal_at, judging_deadline,"
    " protocol_fee_recipient, authorization_nonce, block_number, block_hash, log_index, tx_hash, time)"
    " VALUES (%(id)s, '', '', '', 1, 3, 1, 1, %(at)s + 1, %(at)s + 2, %(at)s + 3, '', '', 1, '', %(id)s, '', 1)"
)
_ENDING = (
    "INSERT INTO hub_index.finalizations (bounty_id, outcome, reason, winner, submission_commitment, award, refund,"
    " protocol_fee, guardian_fee_each, guardian_fee_count, block_number, block_hash, log_index, tx_hash, time)"
    " VALUES (%(id)s, 1, 1, '', '', 1, 0, 1, 1, 1, 1, '', 9, '', 1)"
)


class Passing(HandClock):
    """Does something once an hour has been slept through."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then: Callable[[], None] | None = then

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds * 600)
        if self.time > 3_600 and self._then is not None:
            self._then()
            self._then = None


def test_database__that_comes_after_an_hour__is_waited_for_with_the_reason_and_the_password_of_that_moment(
    database_server: DatabaseServer,
) -> None:
    server, name = database_server.server, f"late_{secrets.token_hex(6)}"
    right = server.url(name, user=MIGRATOR, password=database_server.passwords[MIGRATOR])
    urls = [server.url(name, user=MIGRATOR, password="not this one")]

    def come() -> None:
        server.create_database(name, owner=MIGRATOR)
        urls.append(right)

    with capture_logs() as said:
        assert await_database(lambda: urls[-1], clock=Passing(come)) == right
    assert 2 <= len(said) <= 3_600 / REPORT_SECONDS + 2  # again and again, and not at each attempt
    assert all(line["event"].startswith("waiting for the database") for line in said)
    assert "not this one" not in str(said)
    server.drop_database(name)


@pytest.mark.parametrize("service", ["api", "indexer", "reviewer", "delivery"])
def test_service__that_starts__loads_nothing_that_migrates(service: str) -> None:
    program = (
        f"import sys, service_{service}.main; print([name for name in ('alembic', 'mako') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
