"""What ``guardian:judgeable`` asks at ``/subgraph``, of the real endpoint, which strangers may fill."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest
from bounty_protocol.clock import SystemClock
from flask.testing import FlaskClient
from service_api.app import make_app
from service_api.subgraph import rows
from service_api.subgraph.rows import MAX_ROWS

from tests import large
from tests.api.conftest import Service
from tests.cli.servers import Reply, Request, Server
from tests.cli.terminal import Terminal
from tests.servers import Database, DatabaseServer

MOST_SKIPPED = 500
"""Rows that the endpoint skips at most here: a tenth, so that fewer bounties are more than that."""
BOUNTIES = MOST_SKIPPED + 600
_REOPENED = "DELETE FROM hub_index.finalizations WHERE bounty_id < %s"
_ANOTHER_ROSTER = "UPDATE hub_index.bounties SET roster_version = 2 WHERE bounty_id = 100"
_SUBMISSIONS = """
INSERT INTO hub_index.submissions
    (bounty_id, solver, submission_commitment, block_number, block_hash, log_index, tx_hash, time)
SELECT bounty_id, '0x' || lpad(to_hex(1000 + k), 40, '0'), '0x' || lpad(to_hex(k), 64, '0'),
    block_number, block_hash, k + 10, tx_hash, time
FROM hub_index.bounties, generate_series(1, %s) AS k WHERE bounty_id = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The api over an index of its own, the environment of a client, and what changes the index."""

    database: Database
    environment: dict[str, str]

    def execute(self, statement: str, *values: object) -> None:
        with psycopg.connect(self.database.url(), autocommit=True) as connection:
            connection.execute(statement.encode(), values)


@pytest.fixture
def deployment(service: Service) -> Iterator[Deployment]:
    own = service.world.database
    database = DatabaseServer(own.server, own.passwords).new()
    chain = service.resources.config.chain
    large.fill(database.url(), chain.chain_id, chain.hub_address, BOUNTIES)
    resources = replace(service.resources, engine=database.engine("service_api"), clock=SystemClock())
    server = Server(Passing(make_app(resources).test_client()))
    environment = {
        "SERVICE_CHAIN_ID": str(chain.chain_id),
        "SERVICE_HUB_ADDRESS": chain.hub_address,
        "SERVICE_ESCROW_TOKEN_ADDRESS": chain.hub_address,
        "SERVICE_RPC_URL": "http://127.0.0.1:9",
        "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": "1",
        "SERVICE_API_BASE_URL": server.url,
        "SERVICE_SUBGRAPH_ENDPOINT": f"{server.url}/subgraph",
    }
    yield Deployment(database, environment)
    server.close()
    database.close()


@dataclass(frozen=True, slots=True)
class Passing:
    """Answers with what the api does, and of each award that its key was delivered."""

    app: FlaskClient

    def __call__(self, request: Request) -> Reply:
        if request.path.endswith("/delivery/status"):
            return 200, b'{"exists": true}', {"Content-Type": "application/json"}
        path = request.path + (f"?{request.query}" if request.query else "")
        answer = self.app.open(path, method=request.method, data=request.body, content_type="application/json")
        return answer.status_code, answer.get_data(), {"Content-Type": answer.content_type or ""}


def listed(deployment: Deployment, home: Path) -> dict[str, int]:
    """Each bounty that the client lists, with how many Submissions it names."""
    guardian = Terminal(home, deployment.environment)
    ran = guardian.run("guardian:judgeable", "--guardian-address", large.GUARDIANS[0])
    found = [event for event in ran.events if event["event"] == "guardian_judgeable.bounty"]
    deadlines = [int(str(event["judging_deadline"])) for event in found]
    assert deadlines == sorted(deadlines)
    submissions = {str(event["bounty_id"]): event["submissions"] for event in found}
    assert all(isinstance(each, list) for each in submissions.values())
    return {bounty: len(each) for bounty, each in submissions.items() if isinstance(each, list)}


@pytest.mark.nightly
def test_judgeable__of_more_bounties_and_submissions_than_an_answer_holds__lists_each_of_the_guardians_rosters(
    deployment: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MAX_SKIP", MOST_SKIPPED)
    final_from = MOST_SKIPPED + 300
    deployment.execute(_REOPENED, final_from)
    deployment.execute(_ANOTHER_ROSTER)
    deployment.execute(_SUBMISSIONS, MAX_ROWS // 4, [100, 200, 300, 400, 500])
    found = listed(deployment, tmp_path)
    others = {str(number): 2 for number in (*range(1, final_from), final_from, final_from + 100, final_from + 200)}
    others[str(BOUNTIES)] = 2  # of the present, in which the newest one's reveal point is past
    full = {str(number): MAX_ROWS // 4 + 2 for number in (200, 300, 400, 500)}
    del others["100"]
    assert found == others | full
