"""A review as a job: one row, whatever happens around it."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.rubric import Rubric, current_rubric
from bounty_protocol.shapes import to_json
from bounty_protocol.types import Address, UnixSeconds
from demo.examples import EXAMPLES
from service_common.db.review import paid_calls, reviews
from service_common.jobs import message
from service_common.reviews import ReviewEnding, ReviewJob, ending_of, review_id
from service_reviewer.jobs import review, sweep
from sqlalchemy import insert, select

from tests.servers import Database

POSTER = Address("0x" + "ab" * 20)
DONE = to_json(ReviewEnding("done"))
PAGE = (EXAMPLES / "bounty_challenge.md").read_bytes()


@pytest.fixture
def configured(database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    monkeypatch.setitem(os.environ, "SERVICE_DATABASE_URL", database.url("service_reviewer"))
    monkeypatch.setitem(os.environ, "SERVICE_REDIS_URL", "redis://unused")
    monkeypatch.setitem(os.environ, "SERVICE_REVIEW_PROVIDER", "rules")
    return database


def job(page: bytes = PAGE, rubric: Rubric | None = None, **changes: str) -> dict[str, object]:
    identifier = review_id(POSTER, spec_commitment(page), (rubric or current_rubric()).hash)
    asked = ReviewJob(
        identifier,
        POSTER,
        page,
        False,
        UnixSeconds(int(time.time())),
        reveal_delay=0,
        token_symbol="USDC",
        token_decimals=6,
    )
    return message(**to_json(asked) | changes)


def rows(database: Database) -> list[list[dict[str, str]]]:
    with database.engine("service_reviewer").connect() as connection:
        return [row.issues for row in connection.execute(select(reviews))]


def test_review_is_one_row_and_not_repeated(configured: Database) -> None:
    assert review(job()) == DONE
    assert review(job()) == DONE
    assert rows(configured) == [[]]


def test_review__of_an_unready_page__keeps_its_issues(configured: Database) -> None:
    assert review(job(PAGE.replace(b"title: Fastest", b"title: TBD Fastest"))) == DONE
    (issues,) = rows(configured)
    assert [issue["path"] for issue in issues] == ["title"]


def test_review_without_judgement_is_no_row(configured: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert review(job(b"no page at all"))["code"] == "invalid_orchestrator_output"
    assert review(job(review_id="0x" + "11" * 32))["code"] == "orchestrator_provider_error"
    monkeypatch.delitem(os.environ, "SERVICE_REVIEW_PROVIDER")
    assert review(job())["code"] == "orchestrator_unconfigured"
    assert rows(configured) == []


@pytest.mark.parametrize("returned", [None, "done", {}, {"code": 7}, {"code": "done", "retry_after": "soon"}])
def test_unknown_ending_is_the_providers_failure(returned: object) -> None:
    assert ending_of(returned) == ReviewEnding("orchestrator_provider_error")
    assert ending_of(DONE) == ReviewEnding("done")


def test_sweep_deletes_what_served_its_time(configured: Database) -> None:
    engine, now = configured.engine("service_reviewer"), datetime.now(UTC)
    with engine.begin() as connection:
        for name, days in (("young", 29.9), ("old", 30.1)):
            moment = now - timedelta(days=days)
            connection.execute(insert(reviews).values(review_id=name, issues=[], finished_at=moment))
        for name, days in (("young", 1.9), ("old", 2.1)):
            row = {"call_id": name, "review_id": "r", "called_at": now - timedelta(days=days)}
            connection.execute(insert(paid_calls).values(**row))
    assert sweep(message()) == 2
    assert sweep(message()) == 0
    with engine.connect() as connection:
        left = [connection.execute(select(table)).scalars().all() for table in (reviews, paid_calls)]
    assert left == [["young"], ["young"]]
