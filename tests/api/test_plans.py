"""Reads cost the same in a large deployment: PostgreSQL's plan of every statement, over an index of many bounties.

No plan may read through a table that grows, or take more of its rows than a page shows: with the planner's default
settings, its statistics fresh. What is asked is every public read with each filter and order, the GraphQL queries of
the client, the pages and docs/subgraph.md, and what authorizations, the settler, the reviews of a Submission and the
upkeep of what is kept read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import pytest
from bounty_protocol.clock import SystemClock
from bounty_protocol.types import Address, BountyId
from flask.testing import FlaskClient
from service_api.app import make_app
from service_api.bounties.searching import grams
from service_api.bounties.verification_records import read_bounty_logs
from service_api.resources import Resources
from service_cli.queries import judgeable
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import read_latest_verdicts, read_submission
from service_indexer.deadlines import read_due
from sqlalchemy import Engine, event

from tests import large
from tests.api.conftest import Service
from tests.api.test_subgraph_examples import EXAMPLES
from tests.servers import Database, DatabaseServer

BOUNTIES = 6_000
MOST_ROWS = 1_500
"""A quarter of the bounties: more of a growing table's rows than this, by the planner's own estimate, is too many."""
MOST_LEFT_OUT = 10
"""How many rows may be left out for each that is given: a filter that many rows pass."""
GROWING = {
    "logs", "bounties", "submissions", "verdicts", "finalizations", "claims", "heartbeats", "totals", "changes",
    "challenge_pages", "challenge_summaries", "verification_records", "written_verdicts", "submission_envelopes",
}  # fmt: skip
LISTS = [
    "", "sort=deadline", "sort=award", "status=open", "status=final", "status=open&sort=deadline", "accepting=true",
    "judgeable=true", "accepting=true&sort=deadline", "search=word012", "search=nothing-of-it",
    "status=open&sort=award",
    f"poster_address={large.POSTER}", f"poster_address={large.POSTER}&sort=award", f"solver_address={large.SOLVER}",
    f"guardian_address={large.GUARDIANS[0]}", "guardian_address=0x" + "99" * 20,
]  # fmt: skip


@dataclass
class Statements:
    """What was sent to the database while it was listened to."""

    engine: Engine
    sent: list[tuple[str, Any]] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[None]:
        def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
            if statement.lstrip().startswith(("SELECT", "WITH")):
                self.sent.append((statement, parameters))

        event.listen(self.engine, "before_cursor_execute", note)
        try:
            yield
        finally:
            event.remove(self.engine, "before_cursor_execute", note)

    def plans(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each statement with its plan, run once more."""
        with self.engine.connect() as connection:
            for statement, parameters in self.sent:
                analyzed = "EXPLAIN (ANALYZE, FORMAT JSON) " + statement
                (explained,) = connection.exec_driver_sql(analyzed, parameters).scalar_one()
                yield statement, explained["Plan"]

    def wasteful(self) -> list[str]:
        """Each place where a plan reads too much of a growing table, with its statement."""
        found = []
        for statement, plan in self.plans():
            places = [*wasteful_places(plan, limited=False), *left_out(plan)]
            found += [f"{place}\n{statement}" for place in places]
        return found

    def rows_read(self, table: str) -> int:
        """Rows of a table that the statements looked at."""
        nodes = [node for _, plan in self.plans() for node in nodes_of(plan) if node.get("Relation Name") == table]
        return sum(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in nodes
        )


def nodes_of(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A node, and those below it."""
    yield node
    for child in node.get("Plans", []):
        yield from nodes_of(child)


def left_out(node: dict[str, Any]) -> Iterator[str]:
    """Reads below a node that looked at many rows of a growing table for others than they gave: an index in the right
    order, read until something fits, costs nothing by the planner's estimate and everything where nothing does."""
    given, loops = node["Actual Rows"] * node["Actual Loops"], node["Actual Loops"]
    left = node.get("Rows Removed by Filter", 0) * loops
    if node.get("Relation Name") in GROWING and left > MOST_ROWS + MOST_LEFT_OUT * given:
        yield f"{node['Node Type']} that left out {left:.0f} rows of {node['Relation Name']} for {given:.0f}"
    for child in node.get("Plans", []):
        yield from left_out(child)


def wasteful_places(node: dict[str, Any], *, limited: bool) -> Iterator[str]:
    """Whole reads of a growing table below a node; where many of its rows are wanted, a limit ends the read early."""
    kind, table, many = node["Node Type"], node.get("Relation Name"), node["Plan Rows"] > MOST_ROWS
    if table in GROWING and not (limited if many else kind != "Seq Scan"):
        yield f"{kind} of {node['Plan Rows']} rows of {table}"
    below = limited or kind == "Limit"
    if kind in {"Sort", "Hash", "Materialize", "Aggregate", "Bitmap Heap Scan"} and node.get("Strategy") != "Sorted":
        below = False  # it takes all that is below before it gives its first row
    for child in node.get("Plans", []):
        yield from wasteful_places(child, limited=below)


@pytest.fixture(scope="module")
def database(service: Service) -> Iterator[Database]:
    """An index of its own that is large."""
    own = service.world.database
    made = DatabaseServer(own.server, own.passwords).new()
    yield made
    made.close()


@pytest.fixture(scope="module")
def deployment(service: Service, database: Database) -> tuple[Resources, Statements]:
    """The api over it."""
    config = service.resources.config.chain
    large.fill(database.url(), config.chain_id, config.hub_address, BOUNTIES)
    with psycopg.connect(database.url(), autocommit=True) as connection:
        connection.execute(UNFUNDED)
    engine = database.engine("service_api")
    return replace(service.resources, engine=engine, clock=SystemClock()), Statements(engine)


@pytest.fixture
def statements(deployment: tuple[Resources, Statements]) -> Statements:
    deployment[1].sent.clear()
    return deployment[1]


@pytest.fixture
def client(deployment: tuple[Resources, Statements]) -> FlaskClient:
    """Anew for each test, so that nothing is kept from the one before."""
    return make_app(deployment[0]).test_client()


OPEN, FINAL = BountyId(BOUNTIES), BountyId(10)
CROWDED = "word013"
"""In the texts of a few bounties, and of many pages that nobody funded."""
UNFUNDED = f"""
    INSERT INTO app.challenge_pages (spec_commitment, content, submission_deadline)
        SELECT '0xee' || lpad(n::text, 62, '0'), '', 1 FROM generate_series(1, 1500) AS n;
    INSERT INTO app.challenge_summaries (spec_commitment, title, summary, folded, grams)
        SELECT spec_commitment, '{CROWDED}', '', '{CROWDED}', ARRAY{grams(CROWDED)}
        FROM app.challenge_pages WHERE content = '';
    ANALYZE app.challenge_pages, app.challenge_summaries;
"""


@pytest.mark.parametrize("query", LISTS)
def test_list_reads_no_further_than_it_shows(client: FlaskClient, statements: Statements, query: str) -> None:
    address = f"/api/bounties?limit=20&{query}"
    for _ in range(3):
        with statements.listening():
            response = client.get(address)
        assert response.status_code == 200, response.text
        cursor = (response.json or {})["next_cursor"]
        if cursor is None:
            break
        address = f"/api/bounties?limit=20&{query}&cursor={cursor}"
    assert statements.wasteful() == []


def test_pages_that_nobody_funds_make_no_word_frequent(client: FlaskClient, statements: Statements) -> None:
    """A thousand prepared pages with a rare word would have its search look through all bounties for the few."""
    with statements.listening():
        found = client.get(f"/api/bounties?limit=100&search={CROWDED}").json or {}
    assert {int(item["bounty_id"]) % 977 for item in found["items"]} == {13}
    assert found["total_count"] == len(found["items"]) == len(range(13, BOUNTIES, 977))
    assert statements.rows_read("bounties") < 1.5 * BOUNTIES


@pytest.mark.parametrize(
    "path",
    [f"/api/bounties/{OPEN}", f"/api/bounties/{FINAL}", "/api/status", "/api/changes",
     f"/api/changes?after={BOUNTIES * 2}", "/api/deployment", "/api/written-verdicts/0x" + "ab" * 32,
     f"/api/accounts/{large.POSTER}", "/api/withheld"],
)  # fmt: skip
def test_public_route_reads_what_it_shows(client: FlaskClient, statements: Statements, path: str) -> None:
    with statements.listening():
        assert client.get(path).status_code in {200, 404}
    assert statements.sent
    assert statements.wasteful() == []


def asked(client: FlaskClient, query: str, variables: dict[str, object]) -> None:
    named = {name: value for name, value in variables.items() if f"${name}:" in query}
    response = client.post("/subgraph", json={"query": query, "variables": named})
    assert response.status_code == 200, response.text
    assert "errors" not in (response.json or {}), response.text


VARIABLES: dict[str, object] = {
    "guardian": large.GUARDIANS[0], "open": {"status": "open"}, "first": 100, "beside": judgeable.BESIDE, "skip": 0,
    "b0": str(OPEN), "a0": "",
}  # fmt: skip


@pytest.mark.parametrize("query", [*EXAMPLES, judgeable.JUDGEABLE, judgeable.submissions_query(1)])
def test_query_reads_what_it_shows(client: FlaskClient, statements: Statements, query: str) -> None:
    with statements.listening():
        asked(client, query, VARIABLES)
    assert statements.wasteful() == []


@pytest.fixture(params=[(20_000, 1), (1, 3_000)], ids=["of many accounts", "of one account"])
def junk(database: Database, request: pytest.FixtureRequest) -> Iterator[int]:
    """Submissions to one open bounty; how many of them each account made."""
    accounts, each = request.param
    with psycopg.connect(database.url(), autocommit=True) as connection:
        connection.execute(JUNK, {"bounty": OPEN, "accounts": accounts, "each": each})
        connection.execute("VACUUM ANALYZE hub_index.submissions")
        yield each
        connection.execute("DELETE FROM hub_index.submissions WHERE tx_hash = 'junk'")
        connection.execute("VACUUM ANALYZE hub_index.submissions")


JUNK = """
    INSERT INTO hub_index.submissions
        (bounty_id, solver, submission_commitment, block_number, block_hash, log_index, tx_hash, time)
    SELECT %(bounty)s, '0x' || lpad(to_hex(n), 40, '0'), '', 1000000 + k, '', n, 'junk', 1
    FROM generate_series(1, %(accounts)s::bigint) AS n, generate_series(1, %(each)s::bigint) AS k
"""


@pytest.mark.parametrize("query", [judgeable.JUDGEABLE, '{ bounties(where: {status: "open"}) { submissions { id } } }'])
def test_bounty_of_many_submissions_costs_a_page(
    client: FlaskClient, statements: Statements, junk: int, query: str
) -> None:
    """Work for nothing is cheap to submit, and Guardians read all open bounties at once."""
    with statements.listening():
        asked(client, query, VARIABLES)
    assert statements.rows_read("submissions") < MOST_ROWS + 2 * junk


@pytest.mark.usefixtures("junk")
@pytest.mark.parametrize("junk", [(1, 3_000)], indirect=True, ids=["of one account"])
def test_current_submissions_are_found_in_an_index_alone(client: FlaskClient, statements: Statements) -> None:
    """Of a million Submissions to one bounty its page would read each from another part of the table."""
    with statements.listening():
        assert client.get(f"/api/bounties/{OPEN}").status_code == 200
    chosen = [node for _, plan in statements.plans() for node in nodes_of(plan) if node["Node Type"] == "Unique"]
    reads = [each["Node Type"] for node in chosen for each in nodes_of(node) if "Relation Name" in each]
    assert reads == ["Index Only Scan"]


@pytest.mark.usefixtures("junk")
def test_solver_of_many_submissions_costs_one_row(
    deployment: tuple[Resources, Statements], statements: Statements
) -> None:
    """Any Solver has its own read, by asking for an upload: a million of them took a process's memory."""
    chain, solver = deployment[0].config.chain, Address("0x" + "0" * 39 + "1")
    with statements.listening(), FactSource.of(statements.engine, chain, SystemClock()).open() as facts:
        for oldest in (False, True):
            assert read_submission(facts.connection, OPEN, solver, oldest=oldest) is not None
    assert statements.rows_read("submissions") == 2


def test_authorizing_reads_are_of_one_bounty(deployment: tuple[Resources, Statements], statements: Statements) -> None:
    chain = deployment[0].config.chain
    facts = FactSource(statements.engine, chain.chain_id, chain.hub_address, SystemClock())
    with statements.listening(), facts.open() as moment:
        bounty = moment.bounty(FINAL)
        moment.roster(bounty)
        moment.active_submission(FINAL, large.SOLVER)
        read_latest_verdicts(moment.connection, FINAL)
        assert list(read_bounty_logs(moment.connection, FINAL, bounty.changed_at))
        assert read_due(moment.connection, moment.head)
    assert statements.wasteful() == []
