"""Public reads by a streaming replica that is paused, promoted, lost, hanging, undoes statements, or is another's.

The replica is PostgreSQL's own; what it takes in is waited for, never a while.
"""

import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import psutil
import psycopg
import pytest
from bounty_protocol.errors import ServiceError
from bounty_protocol.wire.bounties import BountyList, BountyQuery
from bounty_protocol.wire.values import PageCursor
from flask.testing import FlaskClient
from local_stack import postgres
from local_stack.postgres import PostgresServer
from local_stack.services import MIGRATOR
from prometheus_client import REGISTRY
from service_api import public_reads
from service_api.app import make_app
from service_api.config import read_config
from service_api.dependencies import Dependencies
from service_api.public_reads import RETRY_SECONDS, SUBSTITUTED_READS, PublicReads, Replica, ReplicaCollector
from service_api.usecases.list_bounties import list_bounties
from service_api.usecases.show_status import show_status
from service_api.withholding.texts import read_revision
from service_common.config import ConfigurationError
from service_common.db import app as tables
from service_common.db.engine import reading, single, writing
from service_common.db.errors import DatabaseFailure, DatabaseUnavailable
from service_common.db.hub_facts import FactSource
from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert

from tests.api.conftest import Service, error_of
from tests.api.test_faults import Raising, requests_of
from tests.clocks import HandClock


@dataclass
class Replicated:
    """The api of a world with a replica beside its database."""

    service: Service
    server: PostgresServer
    dependencies: Dependencies
    clock: HandClock

    @property
    def replica(self) -> Replica:
        assert self.dependencies.replica is not None
        return self.dependencies.replica

    @property
    def client(self) -> FlaskClient:
        return make_app(self.dependencies).test_client()

    def take_in(self) -> None:
        """Have the replica be where the primary is."""
        self.service.world.database.server.wait_for_replica(self.server)

    def position(self) -> int:
        """The block that the status states."""
        found = show_status(self.dependencies).position
        assert found is not None
        return found.block_number

    def answered_by(self) -> str:
        """The database that answers a read now."""
        before = {each: reads(each) for each in ("primary", "replica")}
        self.position()
        (found,) = (each for each in before if reads(each) > before[each])
        return found

    @contextmanager
    def paused(self) -> Iterator[int]:
        """Two blocks and a bounty are indexed that the replica does not take in; where it stands."""
        self.take_in()
        self.server.pause_replay()
        try:
            yield self.position()
        finally:
            self.server.resume_replay()
            self.take_in()


@pytest.fixture(scope="module")
def server(service: Service) -> Iterator[PostgresServer]:
    """A replica for all tests that leave it as it was."""
    server = service.world.database.server.replica("replica")
    yield server
    server.kill()


@pytest.fixture
def replicated(service: Service, server: PostgresServer) -> Iterator[Replicated]:
    yield from _replicated(service, server)


def _replicated(service: Service, server: PostgresServer, **more: Any) -> Iterator[Replicated]:
    clock, database = HandClock(), service.world.database
    replica = Replica(url_of(service, server), service.dependencies.engine, clock, application="test", **more)
    database.server.wait_for_replica(server)
    yield Replicated(service, server, replace(service.dependencies, replica=replica), clock)
    replica.engine.dispose()


def url_of(service: Service, server: PostgresServer, name: str | None = None) -> str:
    """A server's address for the api's role."""
    database = service.world.database
    return server.url(name or database.name, user="service_api", password=database.passwords["service_api"])


def reads(database: str) -> float:
    """How many reads this database answered."""
    return REGISTRY.get_sample_value("service_index_reads_total", {"database": database}) or 0.0


def substituted(reason: str) -> float:
    """How many reads the primary was asked for in the replica's place."""
    return REGISTRY.get_sample_value("service_replica_substituted_total", {"reason": reason}) or 0.0


def send(server: PostgresServer, number: signal.Signals) -> None:
    """To the server and the processes that serve its connections."""
    assert server.child is not None
    process = psutil.Process(server.child.pid)
    for each in (process, *process.children(recursive=True)):
        each.send_signal(number)


def figures(replicated: Replicated) -> dict[str, float]:
    """What the worker's port shows of the replica."""
    world = replicated.service.world
    engine = replicated.dependencies.engine
    found = ReplicaCollector(replicated.replica, engine, world.chain_id).collect()
    return {sample.name: sample.value for metric in found for sample in metric.samples}


def test_replica__that_is_paused__makes_answers_later_which_say_how_old_they_are(replicated: Replicated) -> None:
    world, client = replicated.service.world, replicated.client
    known = world.create()
    world.index()
    with replicated.paused() as stands:
        assert stands == world.tip()
        new = world.create()
        world.finalize_at(world.time() + 300)
        query = {"query": "{ _meta { block { number } } }"}
        answers = [
            client.get("/api/bounties"),
            client.get(f"/api/bounties/{known}"),
            client.get(f"/api/accounts/{world.people.owner.address}"),
            client.get("/api/changes?limit=1"),
            client.get("/api/status"),
            client.post("/subgraph", json=query),
        ]
        assert {answer.status_code for answer in answers} == {200}
        assert {answer.headers["X-Index-Block"] for answer in answers} == {str(stands)}
        assert answers[4].json["position"]["block_number"] == stands  # type: ignore[index]
        assert (answers[4].json["state"], answers[5].json["data"]["_meta"]["block"]["number"]) == ("behind", stands)  # type: ignore[index]
        assert str(new) not in {each["bounty_id"] for each in answers[0].json["items"]}  # type: ignore[index]
        assert figures(replicated)["service_replica_usable"] == 1
        assert figures(replicated)["service_replica_lag_seconds"] > 0
    assert replicated.position() == world.tip()
    assert str(new) in {each["bounty_id"] for each in client.get("/api/bounties").json["items"]}  # type: ignore[index]
    assert figures(replicated) == {"service_replica_usable": 1, "service_replica_lag_seconds": 0}


@pytest.mark.spec(118)
def test_replica__that_lacks_what_a_client_has_seen__is_stood_in_for(replicated: Replicated) -> None:
    """A bounty, a document, a number of the feed, a block that a query names: none of them is denied by a replica."""
    world, client = replicated.service.world, replicated.client
    replicated.take_in()
    with replicated.paused():
        new, before = world.create(), substituted("lacks")
        world.index()
        document, commitment = _keep_verdict(replicated)
        newest = replicated.service.get("/api/changes?limit=100").json
        while newest["has_more"]:  # type: ignore[index]
            newest = replicated.service.get(f"/api/changes?limit=100&after={newest['next_after']}").json  # type: ignore[index]
        last = newest["next_after"]  # type: ignore[index]
        query = f"{{ _meta(block: {{number_gte: {world.tip()}}}) {{ block {{ number }} }} }}"
        assert client.get(f"/api/bounties/{new}").status_code == 200
        assert client.get(f"/api/written-verdicts/{commitment}").data == document
        assert client.get(f"/api/changes?after={last}").json == {"items": [], "has_more": False, "next_after": last}
        assert client.post("/subgraph", json={"query": query}).status_code == 200
        assert substituted("lacks") == before + 4
        assert client.get("/api/bounties/987654").status_code == 404  # nowhere: by the primary's word
        refused = client.get(f"/api/changes?after={last + 1}")
        assert (refused.status_code, error_of(refused)["code"]) == (400, "invalid_request")


def _keep_verdict(replicated: Replicated) -> tuple[bytes, str]:
    from bounty_protocol.domain.commitments import report_commitment

    document = secrets.token_hex(8).encode()
    commitment = report_commitment(document)
    row = {"report_commitment": commitment, "content": document, "bounty_id": 1, "guardian": "0x" + "11" * 20}
    with writing(replicated.dependencies.engine) as connection:
        connection.execute(insert(tables.written_verdicts).values(row))
    return document, commitment


def test_pages_of_a_list__from_two_databases__leave_no_bounty_out(replicated: Replicated) -> None:
    """What ended before the first page and after the replica's moment would be on neither: not open on the one, and
    above the cursor on the other."""
    world, deps = replicated.service.world, replicated.dependencies
    older, ending = world.create(seconds=500), world.create(seconds=500)
    world.index()
    with replicated.paused():
        world.advance_to(world.judging_deadline(ending))
        world.contract.transact(world.people.poster.wallet, "settle", ending)
        world.index()
        replicated.replica.leave_alone("a test")
        seen, cursor = list[int](), None  # the first page shows the older one alone: the other has ended
        while not seen or cursor is not None:
            page: BountyList = list_bounties(deps, BountyQuery(cursor=cast("PageCursor | None", cursor), limit=1)).value
            seen += [item.bounty_id for item in page.items]
            cursor = None if page.next_cursor is None else _cursor(page.next_cursor)
            replicated.clock.time += RETRY_SECONDS
        assert {older, ending} <= set(seen)


def _cursor(text_: str) -> PageCursor:
    from bounty_protocol.wire.cursor import parse_cursor

    return PageCursor(parse_cursor(text_))


def test_list_of_a_poster__and_what_authorizes__are_never_the_replicas(replicated: Replicated) -> None:
    world, service = replicated.service.world, replicated.service
    if not world.open_bounties:
        world.create()
    world.finalize()
    deps = replace(service.dependencies, replica=cast("Replica", Raising(AssertionError("the replica was asked"))))
    client, plain = make_app(deps).test_client(), make_app(service.dependencies).test_client()
    public = {"/api/bounties", "/api/bounties/1", "/subgraph"}
    for method, path, query, body, secret in requests_of(service):
        if path in public or (method == "GET" and "written-verdicts" in path):
            continue
        statuses = []
        for each in (client, plain):
            headers = {"Content-Type": "text/markdown" if body.startswith((b"-", b"x")) else "application/json"}
            if secret is not None:
                headers["Authorization"] = service.authorization(secret, method, path, query=query, body=body)
            url = path + (f"?{query}" if query else "")
            statuses.append(each.open(url, method=method, data=body or None, headers=headers if body or secret else {}))
        assert statuses[0].status_code == statuses[1].status_code != 500, path
    assert client.get(f"/api/bounties?poster_address={world.people.poster.address}").status_code == 200
    assert client.get("/api/bounties").status_code == 500


def test_etag__of_equal_answers__is_the_same_from_both_databases(replicated: Replicated) -> None:
    world = replicated.service.world
    bounty_id = world.create()
    world.finalize()
    replicated.take_in()
    by_primary = replicated.service.get(f"/api/bounties/{bounty_id}")
    known = replicated.client.get(f"/api/bounties/{bounty_id}", headers={"If-None-Match": by_primary.headers["ETag"]})
    assert known.status_code == 304
    assert known.headers["X-Index-Block"] == by_primary.headers["X-Index-Block"]


def test_replica__that_was_promoted__is_used_no_more(service: Service) -> None:
    server = service.world.database.server.replica("promoted")
    try:
        for replicated in _replicated(service, server):
            assert replicated.answered_by() == "replica"
            server.promote()
            assert replicated.answered_by() == "primary"
            assert figures(replicated) == {"service_replica_usable": 0}
            replicated.clock.time += RETRY_SECONDS
            assert replicated.answered_by() == "primary"
    finally:
        server.kill()


def test_replica__that_is_lost__is_left_alone_for_a_while_and_used_again(replicated: Replicated) -> None:
    assert replicated.answered_by() == "replica"
    replicated.server.kill()
    assert replicated.answered_by() == "primary"
    assert figures(replicated) == {"service_replica_usable": 0}
    replicated.server.restart()
    assert replicated.answered_by() == "primary"
    replicated.clock.time += 2 * RETRY_SECONDS
    assert replicated.answered_by() == "replica"
    assert figures(replicated)["service_replica_usable"] == 1


def test_replica__that_hangs__is_given_up_and_used_again(service: Service, server: PostgresServer) -> None:
    for replicated in _replicated(service, server, statement_ms=100):
        assert replicated.answered_by() == "replica"
        send(server, signal.SIGSTOP)
        try:
            assert replicated.answered_by() == "primary"
            asked = substituted("away")
            assert [replicated.answered_by() for _ in range(3)] == ["primary"] * 3
            assert substituted("away") == asked + 3
        finally:
            send(server, signal.SIGCONT)
        replicated.clock.time += RETRY_SECONDS
        assert replicated.answered_by() == "replica"


@pytest.mark.parametrize("other", ["another database", "the primary itself"])
def test_replica__that_has_not_what_the_primary_has__is_not_asked(replicated: Replicated, other: str) -> None:
    service, server = replicated.service, replicated.server
    database = service.world.database
    urls = {
        "another database": url_of(service, server, "template_of_tests"),
        "the primary itself": url_of(service, database.server),
    }
    replicated.take_in()
    _require_unused(service, urls[other])


def test_replica__of_another_server__is_not_asked(service: Service) -> None:
    """The chain and the Hub are the primary's where server and database are."""
    database = service.world.database
    with postgres.start() as stranger:
        stranger.create_role("service_api", password=database.passwords["service_api"])
        stranger.create_database(database.name)
        server = stranger.replica()
        stranger.wait_for_replica(server)
        _require_unused(service, url_of(service, server))


def _require_unused(service: Service, url: str) -> None:
    replica = Replica(url, service.dependencies.engine, HandClock(), application="test")
    asked = replace(service.dependencies, replica=replica)
    before = reads("primary")
    assert show_status(asked).position is not None
    assert reads("primary") == before + 1
    with pytest.raises(DatabaseUnavailable), single(replica.engine) as connection:
        connection.execute(text("SELECT 1"))
    replica.engine.dispose()


def test_statement__that_is_in_the_way_of_what_a_replica_takes_in__is_made_on_the_primary(
    replicated: Replicated,
) -> None:
    """Once, and the replica is asked again next."""
    server = replicated.service.world.database.server
    with psycopg.connect(replicated.server.url(), autocommit=True) as administrator:
        administrator.execute("ALTER SYSTEM SET max_standby_streaming_delay = 0")
        administrator.execute("SELECT pg_reload_conf()")
    before = substituted("conflict")

    def read(source: FactSource) -> bool:
        count = select(func.count()).select_from(tables.written_verdicts)
        with reading(source.engine) as connection:
            connection.execute(count)
            if source.is_replica:
                with psycopg.connect(server.url(replicated.service.world.database.name)) as writer:
                    writer.execute("LOCK TABLE app.written_verdicts IN ACCESS EXCLUSIVE MODE")
                    writer.execute("SELECT pg_current_xact_id()")
                replicated.take_in()
            connection.execute(count)
        return source.is_replica

    assert replicated.dependencies.public.read(read) is False
    assert substituted("conflict") == before + 1
    assert replicated.answered_by() == "replica"


def test_primary__in_the_place_of_a_lost_replica__answers_a_few_reads_at_a_time(
    replicated: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public_reads, "SUBSTITUTED_WAIT_SECONDS", 0.0)
    reads_, client = replicated.dependencies.public, replicated.client
    replicated.replica.leave_alone("a test")

    def nested(depth: int) -> int:
        return reads_.read(lambda _: depth if depth == SUBSTITUTED_READS else nested(depth + 1))

    def refused(depth: int) -> int:
        if depth == SUBSTITUTED_READS:
            answer = client.get("/api/bounties")
            assert (answer.status_code, error_of(answer)["code"]) == (503, "service_overloaded")
            assert show_status(replicated.dependencies).state == "unavailable"
            return depth
        return reads_.read(lambda _: refused(depth + 1))

    assert nested(1) == SUBSTITUTED_READS
    assert refused(0) == SUBSTITUTED_READS
    assert client.get("/api/bounties").status_code == 200


def test_replica__that_is_too_slow__does_not_pass_its_load_on(replicated: Replicated) -> None:
    before, asked = {each: substituted(each) for each in ("away", "conflict", "lacks")}, list[bool]()

    def slow(source: FactSource) -> None:
        asked.append(source.is_replica)
        with single(source.engine) as connection:
            connection.execute(text("SET statement_timeout = 1"))
            connection.execute(text("SELECT pg_sleep(10)"))

    with pytest.raises(ServiceError) as refused:
        replicated.dependencies.public.read(slow)
    assert (refused.value.code, asked) == ("service_overloaded", [True])
    assert before == {each: substituted(each) for each in before}


def test_record__that_a_replica_shows_first__is_kept_by_the_primary_and_replaces_none(replicated: Replicated) -> None:
    world, deps = replicated.service.world, replicated.dependencies
    bounty_id = world.create(seconds=500)
    world.advance_to(world.judging_deadline(bounty_id))
    world.contract.transact(world.people.poster.wallet, "settle", bounty_id)
    world.finalize()
    replicated.take_in()
    kept = select(tables.verification_records.c.content).where(tables.verification_records.c.bounty_id == bounty_id)
    with replicated.paused():
        shown = replicated.client.get(f"/api/bounties/{bounty_id}").json
        assert shown is not None
        assert shown["verification_record"]
        with single(deps.engine) as connection:
            first = connection.execute(kept).scalar_one()
        with writing(deps.engine) as connection:
            connection.execute(tables.verification_records.update().values(content=b"later", rebuilds=7))
        assert (replicated.client.get(f"/api/bounties/{bounty_id}").json or {})["verification_record"]
        with single(deps.engine) as connection:
            assert connection.execute(kept).scalar_one() == b"later"
        with writing(deps.engine) as connection:
            connection.execute(delete(tables.verification_records))
    assert replicated.service.get(f"/api/bounties/{bounty_id}").json == shown
    with single(deps.engine) as connection:
        assert connection.execute(kept).scalar_one() == first


def test_setting__of_a_replica__is_optional_and_an_address(service: Service) -> None:
    assert read_config(service.variables).database_read_url is None
    with pytest.raises(ConfigurationError) as refused:
        read_config({**service.variables, "SERVICE_DATABASE_READ_URL": "mysql://there"})
    assert ["SERVICE_DATABASE_READ_URL" in each for each in refused.value.problems] == [True]


def test_failure__of_the_primary_too__is_unavailable(service: Service, replicated: Replicated) -> None:
    replicated.replica.leave_alone("a test")
    down = PublicReads(replace(service.dependencies.facts, engine=cast("Any", _Down())), replicated.replica)
    with pytest.raises(DatabaseUnavailable):
        down.read(lambda source: source.engine.connect())


class _Down:
    def connect(self) -> None:
        raise DatabaseUnavailable(failure=DatabaseFailure.AWAY)


def test_replica__that_does_not_know_what_is_withheld__is_not_asked(replicated: Replicated) -> None:
    world = replicated.service.world
    row = {"kind": "bounty", "subject": "0x" + "77" * 32, "reason": "An order", "decided_by": "Ada"}
    assert replicated.answered_by() == "replica"
    with replicated.paused():
        lacked = substituted("lacks")
        with writing(replicated.dependencies.engine) as connection:
            connection.execute(insert(tables.withholdings).values(row))
        assert replicated.answered_by() == "replica"  # what is known of the primary is as old as it may be
        replicated.clock.sleep(public_reads.WITHHELD_SECONDS)
        assert replicated.client.get("/api/withheld").json["items"][0]["reason"] == "An order"  # type: ignore[index]
        assert (replicated.answered_by(), substituted("lacks") - lacked) == ("primary", 2)
    assert replicated.answered_by() == "replica"
    with writing(world.engine(MIGRATOR)) as connection:
        connection.execute(delete(tables.withholdings))


@pytest.mark.attack
def test_standby__that_knows_what_is_withheld__does_not_vouch_for_another_behind_the_same_address(
    replicated: Replicated,
) -> None:
    world, engine = replicated.service.world, replicated.replica.engine
    row = {"kind": "bounty", "subject": "0x" + "78" * 32, "reason": "An order", "decided_by": "Ada"}
    assert replicated.answered_by() == "replica"
    with replicated.paused():
        with writing(replicated.dependencies.engine) as connection:
            connection.execute(insert(tables.withholdings).values(row))
            newest = read_revision(connection)
        with engine.connect() as another, engine.connect() as one:
            another.info.pop(public_reads.WITHHELD, None)
            one.info[public_reads.WITHHELD] = newest  # as that of a standby which is not behind
        replicated.clock.sleep(public_reads.WITHHELD_SECONDS)
        with engine.connect() as first:
            assert first.info[public_reads.WITHHELD] == newest
            with pytest.raises(public_reads.ReplicaLacks):
                engine.connect()
    with writing(world.engine(MIGRATOR)) as connection:
        connection.execute(delete(tables.withholdings))
