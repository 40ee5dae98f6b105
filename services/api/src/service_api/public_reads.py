"""Public reads of the index: by the read replica where there is one, by the primary where that does not answer.

A replica shows an earlier moment of the primary, so its answers are later, never others, and each states how far its
database was. What it does not have is never the answer: the primary is asked before anything is refused, and in its
place while it lacks a decision to withhold a text. Nothing that authorizes is read of it, and nothing is written by
what it shows but records, which are the same from every copy.

A replica is used only while it is a standby of this very primary: each new connection proves that, and every connection
shows when the server was promoted. One that is away is left alone for ``RETRY_SECONDS``. What it does not answer, the
primary does, a few reads at a time: a lost replica must not take the primary with it.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from threading import BoundedSemaphore, Lock
from typing import Any, Final, Generic, TypeVar, cast

import psycopg
from bounty_protocol.clock import Clock
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ChainId
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from service_common.counters import counter_by
from service_common.db import hub_index as t
from service_common.db.engine import make_engine, single
from service_common.db.errors import DatabaseFailure, DatabaseUnavailable
from service_common.db.hub_facts import INDEX_UNAVAILABLE, FactSource
from service_common.db.hub_reads import Head
from service_common.log import get_logger
from service_common.web.versions import ReadPosition
from sqlalchemy import Connection, Engine, event, select, text
from sqlalchemy.pool import ConnectionPoolEntry

from service_api.places import place_at
from service_api.withholding.texts import read_revision

T = TypeVar("T")
STATEMENT_MS: Final = 3_000
"""Of a statement on the replica: more than any public read takes, and a hanging one is noticed a second later."""
RETRY_SECONDS: Final = 10.0
"""For how long a replica that did not answer is not asked again; then one read tries it, beside the others."""
SUBSTITUTED_READS: Final = 3
"""Reads of a replica that one process has the primary answer at a time; half of those it works on at a time."""
SUBSTITUTED_WAIT_SECONDS: Final = 1.0
"""How long a read waits for its turn among these."""
FIGURES_MS: Final = 500
"""Of a statement for the figures of a replica."""
FIGURES_SECONDS: Final = 4.0
"""For all figures of a replica, also of one that hangs: a connection is checked, and then a new one is made."""
WITHHELD_SECONDS: Final = 1.0
"""How old the primary's word on what is withheld may be; half a second later a read goes on without a newer one."""
WITHHELD_WAIT_SECONDS: Final = 0.5
_MAY_BE_THERE: Final = frozenset({INDEX_UNAVAILABLE, "bounty_not_found", "written_verdict_not_found"})
"""What is answered where something is not there, or not yet: only the primary knows."""
_STANDBY: Final = "in_hot_standby"
"""What PostgreSQL 14 and newer report of a server without being asked, and again when it is promoted."""
_CLUSTER: Final = (
    "SELECT system_identifier, (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) "
    "FROM pg_control_system()"
)
"""What a server shares with its standbys alone, and a database with its copy there."""
WITHHELD: Final = "withheld_revision"
"""Of a connection: the newest decision on what is withheld that its server was seen to have."""

READS: Final = counter_by(
    "database",
    ("primary", "replica"),
    "service_index_reads_total",
    "Public reads of the index, by the database that answered",
)
SUBSTITUTED: Final = counter_by(
    "reason",
    ("away", "conflict", "lacks"),
    "service_replica_substituted_total",
    "Public reads that the primary was asked for in place of its replica: it is `away`, undid the statement by a "
    "`conflict` with what it takes in, or `lacks` what was asked for",
)

log = get_logger(__name__)


class ReplicaLacks(Exception):
    """What was asked for is later than what the replica has."""


@dataclass(frozen=True, slots=True)
class ReadAnswer(Generic[T]):
    """What one moment of the index shows, and how far the index was."""

    value: T
    head: Head

    @property
    def position(self) -> ReadPosition:
        """As the headers of an answer state it."""
        return ReadPosition(self.head.block_number, self.head.block_time)


class WithheldRevision:
    """The newest decision on what is withheld, as the primary has it. A primary that does not answer is waited for once
    in ``RETRY_SECONDS``, and what is known of it counts meanwhile. Thread-safe."""

    def __init__(self, primary: Engine, clock: Clock) -> None:
        self._primary, self._clock = primary, clock
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="withheld")
        self._asked: Future[int] | None = None
        self._known, self._asked_at, self._waited_from = 0, float("-inf"), float("-inf")

    def newest(self) -> int:
        """The revision, at most ``WITHHELD_SECONDS`` old while the primary answers."""
        with self._lock:
            now, asked = self._clock.monotonic(), self._asked
            if asked is None and now - self._asked_at < WITHHELD_SECONDS:
                return self._known
            if asked is None:
                self._asked_at = now
                asked = self._asked = self._pool.submit(self._read)
            patience = WITHHELD_WAIT_SECONDS if now >= self._waited_from else 0.0
        try:
            found = asked.result(timeout=patience)
        except (TimeoutError, DatabaseUnavailable) as error:
            if patience:
                with self._lock:
                    self._waited_from = now + RETRY_SECONDS
            if isinstance(error, TimeoutError):
                return self._known
            found = self._known
        except Exception:
            with self._lock:
                self._asked = None if self._asked is asked else self._asked  # the next read asks anew
            raise
        with self._lock:
            self._known = found
            self._asked = None if self._asked is asked else self._asked
            return self._known

    def _read(self) -> int:
        with single(self._primary) as connection:
            return read_revision(connection)


class Replica:
    """The read replica of a primary: its connections, whether it is asked now, and places at the primary for its reads.
    Thread-safe."""

    def __init__(
        self,
        url: str,
        primary: Engine,
        clock: Clock,
        *,
        application: str,
        pool_size: int = 10,
        statement_ms: int = STATEMENT_MS,
    ) -> None:
        self.engine = make_engine(
            url, application=application, pool_size=pool_size, statement_ms=statement_ms, accept=self._accept
        )
        self.places = BoundedSemaphore(SUBSTITUTED_READS)
        self._primary, self._clock = primary, clock
        self._wanted = WithheldRevision(primary, clock)
        self._lock = Lock()
        self._cluster: tuple[int, int] | None = None
        self._asked_from = float("-inf")
        self._is_away = False
        self.failures = 0
        """How often it was left alone: an answer counts only if that did not happen while it was made."""
        event.listen(self.engine, "checkin", self._notice_promotion)
        event.listen(self.engine, "engine_connect", self._require_withheld)

    def may_be_asked(self) -> bool:
        """Whether it answered last, or was left alone for long enough: then one caller tries."""
        with self._lock:
            if not self._is_away:
                return True
            now = self._clock.monotonic()
            if now < self._asked_from:
                return False
            self._asked_from = now + RETRY_SECONDS
            return True

    def leave_alone(self, reason: str) -> None:
        """After it did not answer, or is no replica any more."""
        with self._lock:
            was_away, self._is_away = self._is_away, True
            self.failures += 1
            self._asked_from = self._clock.monotonic() + RETRY_SECONDS
        if not was_away:
            self.engine.dispose()  # a connection that hangs would be waited for once more, each
            log.error("the read replica is not used; the primary answers in its place", reason=reason)

    def answered(self) -> None:
        """It is asked from now on."""
        if self._is_away:
            with self._lock:
                self._is_away = False
            log.warning("the read replica is used again")

    def _accept(self, connection: psycopg.Connection[Any]) -> None:
        """Raise for a server that is no standby of the primary."""
        if not _is_standby(connection):
            raise psycopg.OperationalError("this is no standby: it was promoted, or a pooler hides what it is")
        connection.autocommit = True
        found = cast("tuple[int, int]", connection.execute(_CLUSTER).fetchone())
        if found != self._cluster:  # as far as known: the primary may be another by now
            self._cluster = self._read_cluster()
        if found != self._cluster:
            raise psycopg.OperationalError(
                "this is a standby of another server or of another database than the primary"
            )
        connection.autocommit = False

    def _read_cluster(self) -> tuple[int, int]:
        try:
            with single(self._primary) as connection:
                return cast("tuple[int, int]", tuple(connection.execute(text(_CLUSTER)).one()))
        except DatabaseUnavailable as error:
            raise psycopg.OperationalError("the primary cannot be asked which replica is its own") from error

    def _require_withheld(self, connection: Connection) -> None:
        """Raise ``ReplicaLacks`` where the server lacks a decision on what is withheld that the primary is known to
        have. Each connection shows it of its own server: there may be several behind one address."""
        wanted = self._wanted.newest()
        if connection.info.get(WITHHELD, 0) >= wanted:
            return
        connection.execution_options(isolation_level="AUTOCOMMIT")
        connection.info[WITHHELD] = read_revision(connection)
        connection.rollback()
        if connection.info[WITHHELD] < wanted:
            connection.close()
            raise ReplicaLacks

    def _notice_promotion(self, connection: Any, record: ConnectionPoolEntry) -> None:
        """What a connection that is given back showed of its server. Such connections are not used again."""
        if connection is not None and not _is_standby(connection):
            self.leave_alone("it was promoted")
            record.invalidate()


def _is_standby(connection: Any) -> bool:
    return bool(connection.info.parameter_status(_STANDBY) == "on")


@dataclass(frozen=True, slots=True)
class PublicReads:
    """Where public reads are answered from."""

    primary: FactSource
    replica: Replica | None = None

    def read(self, use: Callable[[FactSource], T]) -> T:
        """What ``use`` reads of one database. It may be called twice, with the replica and then with the primary, and
        changes nothing but by ``ReplicaLacks``, which it raises for what the replica does not have yet.

        Raises ``service_overloaded`` where the primary has no place for what the replica did not answer.
        """
        replica = self.replica
        if replica is None:
            return self.read_primary(use)
        reason = "away"
        if replica.may_be_asked():
            failures = replica.failures
            source = FactSource(
                replica.engine,
                self.primary.chain_id,
                self.primary.hub_address,
                self.primary.clock,
                self.primary.unknown_after_seconds,
                is_replica=True,
            )
            try:
                found = use(source)
            except ReplicaLacks:
                reason = "lacks"
            except (DatabaseUnavailable, ServiceError) as error:
                reason = _reason(replica, error)
            else:
                if replica.failures == failures:
                    replica.answered()
                    READS.labels("replica").inc()
                    return found
        return self._by_primary(replica, use, reason)

    def read_primary(self, use: Callable[[FactSource], T]) -> T:
        """The same of the primary alone: of what money is decided by."""
        found = use(self.primary)
        READS.labels("primary").inc()
        return found

    def _by_primary(self, replica: Replica, use: Callable[[FactSource], T], reason: str) -> T:
        with place_at(replica.places, _overloaded(), SUBSTITUTED_WAIT_SECONDS):
            SUBSTITUTED.labels(reason).inc()
            return self.read_primary(use)


def _reason(replica: Replica, error: DatabaseUnavailable | ServiceError) -> str:
    """Why the primary is asked next; raises what it is not asked for."""
    failed = error if isinstance(error, DatabaseUnavailable) else error.__cause__
    if not isinstance(failed, DatabaseUnavailable):
        replica.answered()
        if isinstance(error, ServiceError) and error.code not in _MAY_BE_THERE:
            raise error
        return "lacks"
    if failed.failure is DatabaseFailure.BUSY:  # the primary would be, too, with all that the replica has to do
        raise _overloaded() from error
    if failed.failure is DatabaseFailure.CONFLICT:
        return "conflict"
    replica.leave_alone(str(getattr(failed.__cause__, "orig", failed)).strip()[:500])
    return "away"


def _overloaded() -> ServiceError:
    return ServiceError("service_overloaded", "The index answers as many reads as it can at the moment.", retry_after=2)


class ReplicaCollector(Collector):
    """How the replica does, seen from a process of its own; read at each scrape."""

    def __init__(self, replica: Replica, primary: Engine, chain_id: ChainId) -> None:
        self._replica, self._primary, self._chain_id = replica, primary, chain_id

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment."""
        usable = GaugeMetricFamily(
            "service_replica_usable", "1 while the read replica answers and is a standby of the primary"
        )
        failures, shown = self._replica.failures, None
        try:
            shown = self._moved_at(self._replica.engine)
            is_usable = self._replica.failures == failures
        except DatabaseUnavailable:
            is_usable = False
        except ReplicaLacks:  # for a moment, after a decision
            is_usable = True
        usable.add_metric([], int(is_usable))
        yield usable
        try:
            written = self._moved_at(self._primary)
        except DatabaseUnavailable:
            return
        behind = GaugeMetricFamily(
            "service_replica_lag_seconds", "How much later the index moved last on the primary than on its read replica"
        )
        if is_usable and shown is not None and written is not None:
            behind.add_metric([], max(0.0, (written - shown).total_seconds()))
            yield behind

    def _moved_at(self, engine: Engine) -> datetime | None:
        c = t.head.c
        with single(engine) as connection:
            return connection.execute(select(c.updated_at).where(c.chain_id == self._chain_id)).scalar()
