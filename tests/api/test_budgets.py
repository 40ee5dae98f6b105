"""Budgets of callers: each has its own, those behind one address share another, a stranger uses up nobody's."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event, Semaphore

import psycopg
import pytest
from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.errors import ServiceError
from bounty_protocol.rubric import current_rubric
from bounty_protocol.types import Address
from flask.testing import FlaskClient
from prometheus_client import REGISTRY
from redis import Redis
from service_api.app import make_app
from service_api.config import ApiBudgets, AtOnce
from service_api.openapi import routes as openapi_routes
from service_api.subgraph.rows import WIDE_AT_A_TIME
from service_common.budgets import SITE_SHARE, Budget, Budgets, Network, network_of
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.db.review import reviews
from service_common.reviews import review_id
from service_common.web.callers import Callers
from service_common.web.settings import client_address
from sqlalchemy import func, insert, select
from werkzeug.test import Client, TestResponse

from tests.api.conftest import Service, answered, error_of, failed, used_by
from tests.api.contract import checked_client
from tests.api.pages import page_for
from tests.api.test_submissions import open_bounty
from tests.clocks import StandingClock
from tests.protocol.auth.signing import new_key
from tests.waiting import wait_until

ONE, TWO, THREE = (Address("0x" + digit * 40) for digit in "123")
HOME, CAFE = "203.0.113.7", "198.51.100.1"
HOUR = 3_600
USUAL = ApiBudgets()


@pytest.fixture
def redis(service: Service) -> Iterator[Redis]:
    """No request counted before, and none of this test's after it."""
    _forget(service.resources.redis)
    yield service.resources.redis
    _forget(service.resources.redis)


def _forget(redis: Redis) -> None:
    for key in redis.scan_iter("LIMITS:*"):
        redis.delete(key)


@contextmanager
def behind_a_proxy(service: Service, budgets: ApiBudgets) -> Iterator[FlaskClient]:
    """The api with budgets of its own, behind one proxy that tells who called."""
    config = service.resources.config
    limited = replace(config, budgets=budgets, at_once=AtOnce(), web=replace(config.web, forwarded_hops=1))
    # The world's own clock leaps, so that nothing lasts; here what is kept and counted lasts as long as the test.
    with checked_client(make_app(replace(service.resources, config=limited, clock=StandingClock()))) as client:
        yield client


def from_(address: str) -> dict[str, str]:
    return {"Callers": address}


def uploads(own: int, shared: int) -> tuple[Budget, Budget]:
    return Budget("uploads", own, HOUR, shared=True), Budget("uploads-of-address", shared, HOUR, shared=True)


@pytest.mark.parametrize(
    ("address", "network", "site"),
    [
        ("203.0.113.7", "203.0.113.7", None),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("::ffff:203.0.113.7", "203.0.113.7", None),
        ("", "unknown", None),
        ("somebody:with:keys", "unknown", None),
    ],
)
def test_network_is_what_one_subscriber_has(address: str, network: str, site: str | None) -> None:
    assert network_of(address) == Network(network, site)


@pytest.mark.parametrize(
    ("forwarded", "hops", "seen"),
    [
        ("", 0, "10.0.0.1"),
        ("6.6.6.6", 0, "10.0.0.1"),
        ("6.6.6.6, 203.0.113.7", 1, "203.0.113.7"),
        ("203.0.113.7, 10.0.0.2", 2, "203.0.113.7"),
        ("203.0.113.7", 2, None),
        ("", 1, None),
    ],
)
def test_client_address_is_what_our_first_proxy_saw(forwarded: str, hops: int, seen: str | None) -> None:
    assert client_address("10.0.0.1", forwarded, hops) == seen


def granted(service: Service, own: Budget, shared: Budget, accounts: int, cost: int = 1) -> int:
    """How often accounts behind one address are let through, each again and again, until none is any more."""
    taken = 0
    callers = Callers(Budgets(StandingClock()), ApiBudgets(), 1)
    going = [Address(f"0x{number:040x}") for number in range(accounts)]
    with service.client.application.test_request_context(headers=from_(HOME)):
        while going:
            for account in list(going):
                try:
                    callers.charge_account(own, shared, account, cost)
                    taken += cost
                except ServiceError:
                    going.remove(account)
    return taken


@pytest.mark.parametrize(
    ("own", "shared", "cost"),
    [
        (USUAL.account, USUAL.address, 1),
        (USUAL.publications, USUAL.publications_of_address, 1),
        (USUAL.uploads, USUAL.uploads_of_address, 1),
        (USUAL.upload_mebibytes, USUAL.upload_mebibytes_of_address, 1_024),
        (USUAL.envelopes, USUAL.envelopes_of_address, 1),
    ],
)
def test_accounts_of_an_address_pass_no_bound(service: Service, own: Budget, shared: Budget, cost: int) -> None:
    """Many accounts are no way around the address's budget."""
    mine, ours = (replace(budget, shared=False) for budget in (own, shared))
    assert granted(service, mine, ours, 1, cost) == mine.amount
    assert granted(service, mine, ours, 50, cost) == ours.amount


def test_site_has_sixteen_times_a_budget(service: Service) -> None:
    callers = Callers(Budgets(StandingClock()), ApiBudgets(), 1)
    budget, app, taken = Budget("of-a-network", 20, 60), service.client.application, list[str]()
    for network in range(32):
        address = f"2001:db8:7:{network:x}::1"
        with app.test_request_context(headers=from_(address)), suppress(ServiceError):
            while True:
                callers.charge(budget)
                taken.append(address)
    assert Counter(taken)[taken[0]] == budget.amount
    assert len(taken) == SITE_SHARE * budget.amount


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What each read takes of the processor from now on: its one item, in seconds."""
    seconds, spent = [0.0], [0.0]

    def thread_time() -> float:
        spent[0] += seconds[0]
        return spent[0]

    monkeypatch.setattr("service_common.web.callers.thread_time", thread_time)
    return seconds


def test_read_counts_by_its_processor_time(service: Service, busy: list[float]) -> None:
    budget = Budget("reads", 10, 60)
    with behind_a_proxy(service, ApiBudgets(reads=budget)) as client:

        def left() -> tuple[int, int]:
            status = client.get("/api/readiness-rubric", headers=from_(HOME)).status_code
            return status, used_by(client, Callers).budgets.take(budget, HOME, 0).left

        assert left() == (200, 9)
        busy[0] = 0.0249
        assert left() == (200, 4)  # one and four more
        busy[0] = 60.0
        assert left() == (200, 0)  # what it cost beyond its budget is not owed
        busy[0] = 0.0
        assert left() == (429, 0)


@pytest.mark.usefixtures("busy")
def test_page_of_an_account_counts_by_its_rows(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service_api.pages.routes.ROWS_OF_READ", 1)
    open_bounty(service)
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 3, 60))) as client:
        people = Client(client.application)  # its answers are no programs'

        def ask(account: str, address: str) -> int:
            return people.get(f"/people/{account}", headers=from_(address)).status_code

        assert [ask(each, HOME) for each in (ONE, TWO, THREE, ONE)] == [200] * 4  # the last one is kept
        assert [ask(each, CAFE) for each in (service.world.people.poster.address, "0x" + "44" * 20)] == [200, 429]


WIDE = '{ bounties(where: {escrow_amount_gte: "1"}) { id } }'
LISTS = "{" + " ".join(f'a{number}: bounty(id: "{number}") {{ id }}' for number in range(1, 21)) + "}"


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize(
    ("query", "price"),
    [("{ _meta { block { number } } }", 1), (WIDE, 21), (LISTS, 6), ("{ bounties(skip: 5000) { id } }", 6),
     ('{ bounties(where: {bounty_id: "1"}, orderBy: escrow_amount) { id } }', 1), ("{ nothing }", 1),
     ("{ bounties(where: {block_number_gt: 1}, orderBy: time) { id } }", 1),
     ("{ bounties(where: {time_gt: 1}, orderBy: time) { id } }", 21),
     ("{ __schema { types { name } } }", 2)],
)  # fmt: skip
def test_query_counts_by_its_shape(service: Service, busy: list[float], query: str, price: int) -> None:
    """And never by the time that it takes, which depends on what others ask."""
    busy[0] = 0.5
    asked = {"query": query}
    with behind_a_proxy(service, ApiBudgets(subgraph=Budget("subgraph", 2 * price, 60, shared=True))) as client:
        answers = [client.post("/subgraph", json=asked, headers=from_(HOME)).status_code for _ in range(3)]
        assert 429 not in answers[:2]
        assert answers[2] == 429


@pytest.mark.usefixtures("redis")
def test_wide_queries_keep_no_others_out(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have fewer places than queries have, and one without a place costs nothing."""
    monkeypatch.setattr("service_common.web.callers.REFUSAL_SECONDS", 0)
    monkeypatch.setattr("service_api.subgraph.rows.STATEMENT_SECONDS", 30)

    def ask() -> int:
        return service.client.application.test_client().post("/subgraph", json={"query": WIDE}).status_code

    with behind_a_proxy(service, ApiBudgets(subgraph=Budget("subgraph", 2, 60, shared=True))) as client:
        with (
            psycopg.connect(service.world.database.url()) as other,
            ThreadPoolExecutor(WIDE_AT_A_TIME) as threads,
        ):
            other.execute("LOCK TABLE hub_index.finalizations")
            asked = [threads.submit(ask) for _ in range(WIDE_AT_A_TIME)]
            wait_until(lambda: blocked(service) == WIDE_AT_A_TIME)
            for _ in range(3):
                refused = client.post("/subgraph", json={"query": WIDE}, headers=from_(HOME))
                assert (refused.status_code, error_of(refused)["code"]) == (503, "service_overloaded")
            narrow = client.post("/subgraph", json={"query": "{ guardian_rosters { id } }"}, headers=from_(CAFE))
            assert narrow.status_code == 200
            other.rollback()
            assert [each.result() for each in asked] == [200] * WIDE_AT_A_TIME
        assert client.post("/subgraph", json={"query": WIDE}, headers=from_(HOME)).status_code == 200


def blocked(service: Service) -> int:
    """How many statements wait for a lock."""
    with psycopg.connect(service.world.database.url()) as connection:
        row = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
        return 0 if row is None else int(row[0])


@pytest.mark.usefixtures("redis")
def test_upload_urls_count_by_their_bytes(service: Service) -> None:
    bounty_id, solver = open_bounty(service), service.world.solver(1)
    path = f"/api/bounties/{bounty_id}/submissions/{solver.address}/artifact-upload-url"
    with behind_a_proxy(service, ApiBudgets(upload_mebibytes=Budget("upload-mebibytes", 1_026, HOUR))) as client:

        def ask(byte_length: int) -> int:
            body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": byte_length}).encode()
            signed = service.authorization(solver.private_key, "POST", path, body=body)
            headers = {"Authorization": signed, "Content-Type": "application/json", **from_(HOME)}
            return client.post(path, data=body, headers=headers).status_code

        assert [ask(1 << 30), ask((1 << 20) + 1), ask(1)] == [200, 200, 429]


@pytest.mark.usefixtures("redis")
def test_reviews_of_an_address_are_few(service: Service) -> None:
    path = "/api/bounty-challenge-specs/prepare-publication"
    budget = Budget("reviews-of-address", 2, 24 * HOUR)
    with behind_a_proxy(service, ApiBudgets(reviews_of_address=budget)) as client:

        def publish(number: int, address: str = HOME) -> int:
            key, page = new_key(), page_for(service.world, title=f"Page {number} of somebody else")
            query = f"poster_address={key.address}"
            signed = service.authorization(key.secret.hex(), "POST", path, query=query, body=page)
            headers = {"Authorization": signed, "Content-Type": "text/markdown", **from_(address)}
            return client.post(f"{path}?{query}", data=page, headers=headers).status_code

        assert [publish(number) for number in range(3)] == [200, 200, 429]
        assert publish(3, CAFE) == 200
    with reading(service.resources.engine) as connection:
        assert connection.execute(select(func.count()).select_from(t.review_charges)).scalar_one() == 3


@pytest.mark.usefixtures("redis")
def test_paid_review_counts_for_who_starts_it(service: Service) -> None:
    """Of two requests for one page the first pays for its Poster; the second may be the one that starts the review."""
    path, key, page = "/api/bounty-challenge-specs/prepare-publication", new_key(), page_for(service.world)
    poster = Address(key.address.lower())
    first = review_id(poster, spec_commitment(page), current_rubric().hash)
    with writing(service.resources.engine) as connection:
        connection.execute(insert(t.review_charges).values(review_id=first, poster=poster))
    budget = Budget("reviews-of-address", 0, 24 * HOUR)
    with behind_a_proxy(service, ApiBudgets(reviews_of_address=budget)) as client:
        query = f"poster_address={key.address}"
        signed = service.authorization(key.secret.hex(), "POST", path, query=query, body=page)
        headers = {"Authorization": signed, "Content-Type": "text/markdown", **from_(HOME)}
        refused = client.post(f"{path}?{query}", data=page, headers=headers)
    assert (refused.status_code, error_of(refused)["code"]) == (429, "rate_limit_reached")
    with reading(service.resources.engine) as connection:
        assert connection.execute(select(reviews.c.review_id).where(reviews.c.review_id == first)).first() is None


@pytest.mark.usefixtures("redis")
def test_upload_url_beyond_the_budget_is_429(service: Service) -> None:
    bounty_id, solver = open_bounty(service), service.world.solver(1)
    own, shared = uploads(2, 100)
    path, began = f"/api/bounties/{bounty_id}/submissions/{solver.address}/artifact-upload-url", time.time()
    body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 5}).encode()
    with behind_a_proxy(service, ApiBudgets(uploads=own, uploads_of_address=shared)) as client:

        def ask(key: str, sent: bytes = body) -> TestResponse:
            headers = {"Authorization": service.authorization(key, "POST", path, body=sent), **from_(HOME)}
            return client.post(path, data=sent, headers=headers | {"Content-Type": "application/json"})

        stranger = service.world.solver(2).private_key
        assert [ask(stranger).status_code for _ in range(3)] == [403, 403, 429]
        unsigned = client.post(path, data=body, headers={"Content-Type": "application/json", **from_(HOME)})
        assert unsigned.status_code == 401
        assert [ask(solver.private_key).status_code for _ in range(2)] == [200, 200]
        refused = ask(solver.private_key, b"{}")  # told before the body is looked at
    assert (refused.status_code, error_of(refused)["code"]) == (429, "rate_limit_reached")
    wait = int(refused.headers["Retry-After"])
    assert wait + (time.time() - began) > HOUR - 60
    assert wait <= HOUR


def test_read_beyond_the_budget_is_429(service: Service) -> None:
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 2, 60))) as client:
        answers = [client.get("/api/readiness-rubric", headers=from_(HOME)) for _ in range(3)]
        assert [each.status_code for each in answers] == [200, 200, 429]
        assert 1 <= int(answers[2].headers["Retry-After"]) <= 60
        assert client.get("/api/readiness-rubric", headers=from_(CAFE)).status_code == 200
        pretending = {"Callers": f"{CAFE}, {HOME}"}
        assert client.get("/api/readiness-rubric", headers=pretending).status_code == 429
        assert [client.get("/healthz", headers=from_(HOME)).status_code for _ in range(5)] == [200] * 5


def test_callers_that_nobody_stated_share_a_budget(service: Service) -> None:
    before = total("service_requests_without_caller_total")
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 1, 60))) as client:
        answers = [client.get("/api/readiness-rubric", headers=each) for each in ({}, {}, from_(HOME))]
        probes = [client.get("/healthz") for _ in range(3)]
    assert [each.status_code for each in (*answers, *probes)] == [200, 429, 200, 200, 200, 200]
    assert total("service_requests_without_caller_total") == before + 2


def total(name: str) -> float:
    """What this process has counted."""
    return REGISTRY.get_sample_value(name) or 0.0


def test_read__that_is_kept__is_free(service: Service) -> None:
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 1, 60))) as client:
        answers = [client.get("/api/deployment", headers=from_(HOME)) for _ in range(20)]
    assert {each.status_code for each in answers} == {200}


@pytest.mark.usefixtures("redis")
def test_query_beyond_the_budget_is_429_unread(service: Service) -> None:
    with behind_a_proxy(service, ApiBudgets(subgraph=Budget("subgraph", 1, 60, shared=True))) as client:
        asked = [client.post("/subgraph", json={"query": "{"}, headers=from_(HOME)) for _ in range(2)]
    assert [each.status_code for each in asked] == [400, 429]


def test_signed_beyond_the_budget_is_429_once_proven(service: Service) -> None:
    path = "/api/bounties/999999/submissions/0x" + "11" * 32 + "/content"
    budgets = ApiBudgets(account=Budget("account", 1, 60), address=Budget("address", 3, 60))
    with behind_a_proxy(service, budgets) as client:

        def ask(key: str, address: str = HOME) -> int:
            signed = {"Authorization": service.authorization(key, "GET", path)}
            return client.get(path, headers=signed | from_(address)).status_code

        one, two, three, four = (new_key().secret.hex() for _ in range(4))
        assert [ask(one), ask(one), ask(one, CAFE)] == [404, 429, 429]
        assert client.get(path, headers={"Authorization": "Service-Approval e30", **from_(HOME)}).status_code == 401
        assert [ask(two), ask(three), ask(four), ask(four, CAFE)] == [404, 404, 429, 404]


@contextmanager
def held_open(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FlaskClient, Event, Semaphore]]:
    """The api, whose rubric is answered only once the event is set; the semaphore counts those who wait."""
    free, waiting = Event(), Semaphore(0)

    def wait() -> object:
        waiting.release()
        assert free.wait(30)
        return current_rubric()

    monkeypatch.setattr(openapi_routes, "current_rubric", wait)
    with behind_a_proxy(service, ApiBudgets()) as client:
        try:
            yield client, free, waiting
        finally:
            free.set()


def test_one_site_takes_no_more_places_than_an_address(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads from two hundred networks of one /48 at once left no place, and no turn, for anybody else."""
    path, most = "/api/readiness-rubric", AtOnce().requests
    with held_open(service, monkeypatch) as (client, free, waiting), ThreadPoolExecutor(most + 20) as pool:
        app = client.application

        def read(address: str) -> TestResponse:
            return app.test_client().get(path, headers=from_(address))

        held = [pool.submit(read, f"2001:db8:7:{number:x}::1") for number in range(most)]
        for _ in held:
            assert waiting.acquire(timeout=30)
        before = failed()
        sent = [pool.submit(read, f"2001:db8:7:{number:x}::1") for number in range(100, 120)]
        further = [each.result(10) for each in sent]
        assert {each.status_code for each in further} == {503}
        assert (error_of(further[0])["code"], int(further[0].headers["Retry-After"]) >= 1) == (
            "service_overloaded",
            True,
        )
        assert failed() == before
        assert app.test_client().get("/healthz", headers=from_("2001:db8:7::1")).status_code == 200
        assert app.test_client().get("/api/bounties", headers=from_("2001:db8:8::1")).status_code == 200
        assert app.test_client().get("/api/bounties?limit=3").status_code == 200, "from inside the deployment"
        free.set()
        assert {each.result(30).status_code for each in held} == {200}
        assert read("2001:db8:7:abc::1").status_code == 200


def test_refused_unread_drowns_no_outage(service: Service) -> None:
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 1, 60))) as client:
        path, before, lost = "/api/bounties?limit=9", answered(), failed()
        assert client.get(path, headers=from_(HOME)).status_code == 200
        assert answered() == before + 1
        asked = [
            client.get(path, headers=from_(HOME)),  # kept
            client.options(path),
            client.get("/api/nothing-here"),
            client.get("/api/bounties/1%20"),
            client.post("/api/bounties"),
            client.get("/api/bounties?nonsense=1"),
            client.get("/api/bounties?limit=8", headers=from_(HOME)),
        ]
        assert [each.status_code for each in asked] == [200, 204, 404, 404, 405, 400, 429]
        assert (answered(), failed()) == (before + 1, lost)
