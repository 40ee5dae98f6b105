"""Publishing while the reviewer is slow, wrong, dead or overrun: each outcome has its code and costs what it should."""

import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest
from bounty_protocol.clock import iso_utc
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32
from local_stack import valkey
from rq.job import Job
from service_api.app import make_app
from service_api.config import read_config
from service_api.publishing import review_charges
from service_api.publishing.publish_challenge import Publishing
from service_api.resources import make_resources
from service_common.db import app as t
from service_common.db.review import paid_calls
from service_common.jobs import QueueName, open_queue
from sqlalchemy import func, insert, select
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of, failed, used_by
from tests.api.contract import checked_client
from tests.api.pages import page_for
from tests.campaign import size
from tests.fakes.model import ModelTwin, Reply, not_ready, says
from tests.protocol.auth.signing import Key
from tests.scraping import Started, counted_here, rises_of, start
from tests.waiting import wait_until
from tests.world import ChainClock

CAP = 40
AT_ONCE, THREADS = size(60, 400), size(20, 40)
PATH = "/api/bounty-challenge-specs/prepare-publication"


@dataclass
class Reviewing:
    """An api whose reviewer asks the twin, over a Redis of its own."""

    service: Service
    twin: ModelTwin
    redis: valkey.ValkeyServer
    worker: Started = field(init=False)

    def start_worker(self) -> None:
        """The reviewer's worker as the images run it."""
        runtime = self.service.runtime
        variables = {
            **self.twin.variables(SERVICE_REVIEW_DAILY_CAP=str(CAP), SERVICE_OPENAI_TIMEOUT_SECONDS="30"),
            "SERVICE_DATABASE_URL": self.service.world.database.url("service_reviewer"),
            "SERVICE_REDIS_URL": self.redis.url(),
        }
        name = f"reviewer-{secrets.token_hex(4)}"
        self.worker = start(runtime, name, variables, "service-reviewer", "worker")

    def wait(self, seconds: int) -> None:
        """How long the api waits for a review."""
        reviews = used_by(self.service.client, Publishing).reviews
        reviews._config = replace(reviews._config, review_wait_seconds=seconds)

    def kill_worker(self) -> None:
        self.service.runtime.family.end([self.worker.child], kill=True)

    def page(self, title: str = "Reviewed") -> bytes:
        return page_for(self.service.world, title=f"{title} {secrets.token_hex(4)}")

    def publish(self, page: bytes, poster: Key) -> TestResponse:
        """One request, signed over a block that no earlier request used."""
        self.service.world.node.mine(1)
        return self.send(page, poster, self.sign(page, poster))

    def sign(self, page: bytes, poster: Key) -> str:
        query = f"poster_address={poster.address}"
        return self.service.authorization(poster.secret.hex(), "POST", PATH, query=query, body=page)

    def send(self, page: bytes, poster: Key, authorization: str) -> TestResponse:
        headers = {"Authorization": authorization, "Content-Type": "text/markdown"}
        client = self.service.client.application.test_client()
        return client.post(f"{PATH}?poster_address={poster.address}", data=page, headers=headers)

    def forget_paid_calls(self) -> None:
        """The deployment's cap is counted over everything that used this database, other tests included."""
        with self.service.world.engine("service_reviewer").begin() as connection:
            connection.execute(paid_calls.delete())

    def charges(self, poster: Key) -> int:
        c = t.review_charges.c
        with self.service.resources.engine.connect() as connection:
            wanted = select(func.count()).select_from(t.review_charges).where(c.poster == poster.address)
            return int(connection.execute(wanted).scalar_one())


@pytest.fixture(scope="module")
def started(service: Service) -> Iterator[Reviewing]:
    with valkey.start(service.runtime, name="valkey-reviews") as redis:
        variables = {**service.variables, "SERVICE_REDIS_URL": redis.url(), "SERVICE_REVIEW_WAIT_SECONDS": "20"}
        resources = replace(make_resources(read_config(variables)), clock=ChainClock(service.world.rpc))
        own = replace(service, client=checked_client(make_app(resources)), resources=resources)
        twin = ModelTwin()
        reviewing = Reviewing(own, twin, redis)
        reviewing.start_worker()
        yield reviewing
        reviewing.kill_worker()
        twin.close()
        resources.close()


@pytest.fixture
def reviewing(started: Reviewing) -> Reviewing:
    started.twin.script = []
    started.twin.requests.clear()
    started.twin.released.set()
    started.wait(20)
    started.forget_paid_calls()
    return started


@pytest.fixture
def poster() -> Key:
    return Key(secrets.token_bytes(32))


@pytest.mark.spec(136, 137, 138, 369, 370, 371, 378)
@pytest.mark.parametrize(
    ("script", "status", "code", "wait"),
    [
        ([Reply(503, b"", {"Retry-After": "7"})], 502, "orchestrator_provider_error", "7"),
        ([Reply(429, b"", {"Retry-After": "42"})], 502, "orchestrator_provider_error", "42"),
        ([Reply(cut=True)], 502, "orchestrator_provider_error", "10"),
        ([says("fine!"), says('{"ready": true')], 500, "invalid_orchestrator_output", None),
        ([Reply(body=b"<html>")], 500, "invalid_orchestrator_output", None),
        ([Reply(401)], 503, "orchestrator_unconfigured", "600"),
    ],
)
def test_review_without_result_is_not_charged(
    reviewing: Reviewing, poster: Key, script: list[Reply], status: int, code: str, wait: str | None
) -> None:
    page = reviewing.page()
    reviewing.twin.script = script
    reviewed = rises_of(reviewing.worker.metrics, "service_reviews_total", "outcome")
    answered = rises_of(counted_here, "service_publications_total", "outcome")
    response = reviewing.publish(page, poster)
    assert (response.status_code, error_of(response)["code"]) == (status, code)
    assert response.headers.get("Retry-After") == wait
    assert reviewing.charges(poster) == 0
    assert reviewing.publish(page, poster).status_code == 200
    assert reviewing.charges(poster) == 1
    counted = {code.replace("orchestrator_", ""): 1, "ready": 1}
    assert answered() == counted
    # A job of an earlier test may end now, too.
    wait_until(lambda: all(reviewed().get(outcome, 0) >= times for outcome, times in counted.items()))


@pytest.mark.spec(124, 354)
def test_refusing_model_lists_issues_and_is_charged(reviewing: Reviewing, poster: Key) -> None:
    reviewing.twin.script = [says(not_ready("summary", "Say for whom."))]
    reviewed = rises_of(reviewing.worker.metrics, "service_reviews_total", "outcome")
    response = reviewing.publish(reviewing.page(), poster)
    assert (response.status_code, error_of(response)["code"]) == (400, "bounty_challenge_not_ready")
    assert error_of(response)["issues"] == [{"path": "summary", "message": "Say for whom."}]
    assert reviewing.charges(poster) == 1
    wait_until(lambda: reviewed().get("not_ready") == 1)  # a job of an earlier test may end now, too


def test_long_review_is_502_and_joined_uncharged(reviewing: Reviewing, poster: Key) -> None:
    page = reviewing.page()
    reviewing.wait(1)
    reviewing.twin.released.clear()
    before = failed()
    response = reviewing.publish(page, poster)
    assert (response.status_code, error_of(response)["code"]) == (502, "orchestrator_provider_error")
    assert int(response.headers["Retry-After"]) >= 1
    assert failed() == before, "it is no failure to wait"
    joined = reviewing.publish(page, poster)
    assert (joined.status_code, reviewing.charges(poster)) == (502, 1)
    reviewing.wait(20)
    reviewing.twin.released.set()
    assert reviewing.publish(page, poster).status_code == 200
    assert (len(reviewing.twin.requests), reviewing.charges(poster)) == (1, 1)


def test_repeated_request_after_redis_is_empty_is_409(reviewing: Reviewing, poster: Key) -> None:
    page = reviewing.page()
    reviewing.service.world.node.mine(1)
    authorization = reviewing.sign(page, poster)
    assert reviewing.send(page, poster, authorization).status_code == 200
    reviewing.redis.kill()
    reviewing.redis.restart(empty=True)
    again = reviewing.send(page, poster, authorization)
    assert (again.status_code, error_of(again)["code"]) == (409, "publication_review_unavailable")
    assert reviewing.publish(page, poster).status_code == 200
    assert len(reviewing.twin.requests) == 1


def test_dying_redis_loses_no_review(reviewing: Reviewing, poster: Key) -> None:
    page = reviewing.page()
    reviewing.twin.released.clear()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(reviewing.publish, page, poster)
        wait_until(lambda: len(reviewing.twin.requests) == 1)
        reviewing.redis.kill()
        reviewing.twin.released.set()
        response = answer.result()
    reviewing.redis.restart(empty=True)
    assert response.status_code == 200
    assert (len(reviewing.twin.requests), reviewing.charges(poster)) == (1, 1)


def test_page_no_worker_reviews_may_be_sent_again(reviewing: Reviewing, poster: Key) -> None:
    page, redis = reviewing.page(), reviewing.service.resources.redis
    reviewing.wait(1)
    reviewing.kill_worker()
    assert reviewing.publish(page, poster).status_code == 502
    (job_id,) = open_queue(QueueName.REVIEWS, redis).job_ids
    assert 0 < redis.ttl(Job.key_for(job_id)) <= review_charges.PENDING.total_seconds()
    redis.delete(Job.key_for(job_id))  # that time has passed
    reviewing.wait(20)
    reviewing.start_worker()
    assert reviewing.publish(page, poster).status_code == 200
    assert (len(reviewing.twin.requests), reviewing.charges(poster)) == (1, 1)


@pytest.fixture
def used_up(reviewing: Reviewing) -> Iterator[datetime]:
    """When the day's paid reviews were all made."""
    engine = reviewing.service.world.engine("service_reviewer")
    with engine.begin() as connection:
        now: datetime = connection.execute(select(func.now())).scalar_one()
        for _ in range(CAP):
            connection.execute(insert(paid_calls).values(call_id=secrets.token_hex(8), review_id="x", called_at=now))
    yield now
    with engine.begin() as connection:
        connection.execute(paid_calls.delete().where(paid_calls.c.review_id == "x"))


@pytest.mark.spec(376, 377, 384)
def test_used_up_paid_reviews_are_429(reviewing: Reviewing, poster: Key, used_up: datetime) -> None:
    reviewed = rises_of(reviewing.worker.metrics, "service_reviews_total", "outcome")
    response = reviewing.publish(reviewing.page(), poster)
    error = error_of(response)
    assert (response.status_code, error["code"]) == (429, "publication_review_limit_reached")
    wait_until(lambda: reviewed().get("limit_reached", 0) >= 1)  # a job of an earlier test may end now, too
    free_at = int(used_up.timestamp()) + 24 * 3600 + 1
    assert error["retry_not_before"] == iso_utc(free_at)
    assert 24 * 3600 - 60 < int(response.headers["Retry-After"]) <= 24 * 3600 + 1
    assert reviewing.charges(poster) == 0
    assert reviewing.twin.requests == []


def admitted(answers: Sequence[TestResponse]) -> list[int]:
    """The statuses of those that were not turned away at the door: of very many at once the api takes only so many."""
    assert all("Retry-After" in answer.headers for answer in answers if answer.status_code == 503)
    return [answer.status_code for answer in answers if answer.status_code != 503]


@pytest.mark.spec(134, 365)
def test_identical_publications_are_one_review(reviewing: Reviewing, poster: Key) -> None:
    page = reviewing.page()
    reviewing.service.world.node.mine(1)
    authorization = reviewing.sign(page, poster)
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(lambda _: reviewing.send(page, poster, authorization), range(AT_ONCE)))
    statuses = admitted(answers)
    assert Counter(statuses) == {200: 1, 409: len(statuses) - 1}
    assert (len(reviewing.twin.requests), reviewing.charges(poster)) == (1, 1)


def test_simultaneous_charges_keep_the_quota(reviewing: Reviewing, poster: Key) -> None:
    deps, start = reviewing.service.resources, threading.Barrier(16)
    quota = deps.config.review_quota

    def take(_: int) -> bool:
        start.wait(20)
        try:
            review_charges.charge(deps.engine, quota, Bytes32("0x" + secrets.token_hex(32)), poster.address)
        except ServiceError as refusal:
            assert refusal.code == "publication_review_limit_reached"
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        taken = list(pool.map(take, range(16)))
    assert (sum(taken), reviewing.charges(poster)) == (deps.config.review_quota, deps.config.review_quota)
