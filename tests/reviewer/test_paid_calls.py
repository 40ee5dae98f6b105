"""The rules before the paid reviewer, and the deployment's cap on paid reviews."""

import os
import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from bounty_protocol.types import Bytes32
from service_common.db.review import paid_calls
from service_reviewer.jobs import review
from service_reviewer.judgement import NoJudgement
from service_reviewer.paid_calls import take_call
from sqlalchemy import Engine, func, insert, select

from tests.fakes.model import ModelTwin, Reply, not_ready, says
from tests.reviewer.test_jobs import PAGE, job, rows
from tests.servers import Database

REVIEW = Bytes32("0x" + "5e" * 32)


@pytest.fixture
def twin(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelTwin]:
    twin = ModelTwin()
    variables = {
        "SERVICE_DATABASE_URL": database.url("service_reviewer"),
        "SERVICE_REDIS_URL": "redis://unused",
        "SERVICE_REVIEW_DAILY_CAP": "2",
        **twin.variables(),
    }
    for name, value in variables.items():
        monkeypatch.setitem(os.environ, name, value)
    yield twin
    twin.close()


def calls(database: Database) -> int:
    with database.engine("service_reviewer").connect() as connection:
        return int(connection.execute(select(func.count()).select_from(paid_calls)).scalar_one())


def test_paid_review_asks_the_model_and_is_recorded(database: Database, twin: ModelTwin) -> None:
    twin.script = [says(not_ready("summary", "Say for whom."))]
    assert review(job())["code"] == "done"
    assert rows(database) == [[{"path": "summary", "message": "Say for whom."}]]
    assert (calls(database), len(twin.requests)) == (1, 1)


def test_page_the_rules_refuse_costs_nothing(database: Database, twin: ModelTwin) -> None:
    assert review(job(PAGE.replace(b"title: Fastest", b"title: TBD Fastest")))["code"] == "done"
    assert rows(database)[0]
    assert (calls(database), twin.requests) == (0, [])


@pytest.mark.parametrize(
    ("script", "code", "spent"),
    [
        ([Reply(503)], "orchestrator_provider_error", 0),
        ([Reply(429)], "orchestrator_provider_error", 0),
        ([Reply(401)], "orchestrator_unconfigured", 0),
        ([says("no"), says("no")], "invalid_orchestrator_output", 1),
    ],
)
def test_failed_paid_review_counts_if_it_may_cost(
    database: Database, twin: ModelTwin, script: list[Reply], code: str, spent: int
) -> None:
    twin.script = script
    assert review(job())["code"] == code
    assert (rows(database), calls(database)) == ([], spent)


def test_used_up_cap_names_the_next_moment(database: Database, twin: ModelTwin) -> None:
    with database.engine("service_reviewer").begin() as connection:
        now = connection.execute(select(func.now())).scalar_one()
        for number, hours in enumerate((30, 20, 10)):
            called = now - timedelta(hours=hours)
            connection.execute(insert(paid_calls).values(call_id=str(number), review_id=REVIEW, called_at=called))
    ending = review(job())
    assert ending["code"] == "publication_review_limit_reached"
    assert ending["retry_at"] == int((now + timedelta(hours=4)).timestamp()) + 1
    assert twin.requests == []
    assert review(job(PAGE.replace(b"title: Fastest", b"title: TBD Fastest")))["code"] == "done"


def test_cap__taken_by_many_at_once__is_exact(database: Database) -> None:
    engine, outcomes = database.engine("service_reviewer"), list[str]()
    threads = [threading.Thread(target=_take, args=(engine, outcomes)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["publication_review_limit_reached"] * 7 + ["taken"] * 5
    assert calls(database) == 5


def _take(engine: Engine, outcomes: list[str]) -> None:
    try:
        take_call(engine, 5, REVIEW, has_bounty=True)
        outcomes.append("taken")
    except NoJudgement as error:
        outcomes.append(error.ending.code)


def test_last_fifth_is_for_posters_with_a_bounty(database: Database) -> None:
    engine = database.engine("service_reviewer")
    newcomer, poster = (partial(take_call, engine, 10, REVIEW, has_bounty=has) for has in (False, True))
    for _ in range(8):
        newcomer()
    with pytest.raises(NoJudgement):
        newcomer()
    for _ in range(2):
        poster()
    with pytest.raises(NoJudgement):
        poster()
