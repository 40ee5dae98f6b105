"""Budgets of callers: each has its own, those behind one address share another, a stranger uses up nobody's."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from io import BytesIO
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from _pytest.mark.structures import ParameterSet
from bounty_protocol.clock import SystemClock
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.errors import ServiceError
from bounty_protocol.rubric import current_rubric
from bounty_protocol.types import Address
from flask.testing import FlaskClient
from redis import Redis
from service_api.app import make_app
from service_api.config import ApiBudgets, AtOnce, read_config
from service_api.dependencies import Dependencies, make_dependencies
from service_api.subgraph.routes import QUERY_SECONDS
from service_common.budgets import Budget, Budgets
from service_common.config import ConfigurationError
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.db.review import reviews
from service_common.reviews import review_id
from service_common.web import edge
from service_common.web.at_work import AtWork
from service_common.web.bodies import OpenBodies
from service_common.web.callers import (
    AT_MOST,
    FREE_PART,
    IPV6_SHARES,
    MOST_REST_SECONDS,
    READ_SECONDS,
    SLOWED_AT_ONCE,
    Callers,
    client_network,
)
from service_common.web.settings import client_address
from sqlalchemy import func, insert, select
from werkzeug.test import TestResponse

from tests.api.conftest import Service, answered, error_of, failed
from tests.api.contract import checked_client
from tests.api.pages import page_for
from tests.api.test_submissions import open_bounty
from tests.clocks import HandClock, StandingClock
from tests.protocol.auth.signing import new_key
from tests.proxy import proxies

ONE, TWO, THREE = (Address("0x" + digit * 40) for digit in "123")
HOME, CAFE = "203.0.113.7", "198.51.100.1"
HOUR = 3_600
USUAL = ApiBudgets()


@pytest.fixture
def redis(service: Service) -> Iterator[Redis]:
    """No request counted before, and none of this test's after it."""
    _forget(service.dependencies.redis)
    yield service.dependencies.redis
    _forget(service.dependencies.redis)


def _forget(redis: Redis) -> None:
    for key in redis.scan_iter("LIMITS:*"):
        redis.delete(key)


@contextmanager
def behind_a_proxy(service: Service, budgets: ApiBudgets) -> Iterator[FlaskClient]:
    """The api with budgets of its own, behind one proxy that tells who called."""
    config = service.dependencies.config
    limited = replace(config, budgets=budgets, web=replace(config.web, forwarded_hops=1))
    # The world's own clock leaps, so that nothing lasts; here what is kept and counted lasts as long as the test.
    with checked_client(make_app(replace(service.dependencies, config=limited, clock=StandingClock()))) as client:
        yield client


def from_(address: str) -> dict[str, str]:
    return {"X-Forwarded-For": address}


def wait_of(deps: Dependencies, own: Budget, shared: Budget, account: Address, client: str) -> int:
    """Seconds to wait; 0 where the request was let through."""
    callers = Callers(Budgets(SystemClock(), deps.limits_redis), ApiBudgets(), 1, 16, 6)
    with make_app(deps).test_request_context(headers=from_(client)):
        try:
            callers.charge_account(own, shared, account)
        except ServiceError as error:
            assert (error.code, error.status) == ("rate_limit_reached", 429)
            assert error.retry_after is not None
            return error.retry_after
    return 0


def uploads(own: int, shared: int) -> tuple[Budget, Budget]:
    return Budget("uploads", own, HOUR, shared=True), Budget("uploads-of-address", shared, HOUR, shared=True)


@pytest.mark.usefixtures("redis")
def test_budget__of_one_account__is_nobody_elses(service: Service) -> None:
    deps, budgets, began = service.dependencies, uploads(3, 100), time.time()
    assert [wait_of(deps, *budgets, ONE, HOME) for _ in range(3)] == [0, 0, 0]
    wait = wait_of(deps, *budgets, ONE, CAFE)
    assert wait + (time.time() - began) > HOUR - 10
    assert wait <= HOUR
    assert wait_of(deps, *budgets, TWO, HOME) == 0


@pytest.mark.usefixtures("redis")
def test_budget__what_was_refused__is_not_counted(service: Service) -> None:
    deps, budgets = service.dependencies, uploads(1, 2)
    assert wait_of(deps, *budgets, ONE, HOME) == 0
    assert all(wait_of(deps, *budgets, ONE, HOME) > 0 for _ in range(5))
    assert wait_of(deps, *budgets, TWO, HOME) == 0


@pytest.mark.usefixtures("redis")
def test_budget__of_an_address__holds_up_new_accounts_but_none_already_let_through(service: Service) -> None:
    deps, budgets = service.dependencies, uploads(5, 2)
    assert wait_of(deps, *budgets, ONE, HOME) == 0
    assert wait_of(deps, *budgets, TWO, HOME) == 0
    assert all(wait_of(deps, *budgets, THREE, HOME) > 0 for _ in range(3))
    assert wait_of(deps, *budgets, ONE, HOME) == 0
    assert wait_of(deps, *budgets, THREE, CAFE) == 0


def test_budget__whose_count_was_made_but_its_answer_lost__is_counted_once_there(
    service: Service, redis: Redis
) -> None:
    own, shared = uploads(2, 100)
    address = service.variables["SERVICE_REDIS_URL"]
    with proxies(urlsplit(address).port or 0) as (far,), ThreadPoolExecutor(1) as pool:
        deps = make_dependencies(read_config({**service.variables, "SERVICE_REDIS_URL": far.url(address)}))
        deps.limits_redis.ping()
        far.delay = 1.0
        asked = pool.submit(Budgets(SystemClock(), deps.limits_redis).take, own, ONE)
        while not list(redis.scan_iter(f"LIMITS:*{ONE}*")):
            assert not asked.done()
        far.cut()
        far.mend()
        assert asked.result(20).granted
        deps.limits_redis.close()
    assert wait_of(service.dependencies, own, shared, ONE, HOME) == 0
    assert wait_of(service.dependencies, own, shared, ONE, HOME) > 0


@pytest.mark.parametrize(
    ("address", "client", "around"),
    [
        ("203.0.113.7", "203.0.113.7", []),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", ["2001:db8:1::/56", "2001:db8:1::/48"]),
        ("::ffff:203.0.113.7", "203.0.113.7", []),
        ("", "unknown", []),
        ("somebody:with:keys", "unknown", []),
    ],
)
def test_client__of_an_address__is_what_one_subscriber_has(address: str, client: str, around: list[str]) -> None:
    network = client_network(address)
    assert (network.name, [share.network for share in network.shares]) == (client, [client, *around])


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
def test_client_address__behind_proxies__is_what_the_outermost_of_ours_saw(
    forwarded: str, hops: int, seen: str | None
) -> None:
    assert client_address("10.0.0.1", forwarded, hops) == seen


def granted(service: Service, own: Budget, shared: Budget, accounts: int, cost: int = 1) -> int:
    """How often accounts behind one address are let through, each again and again, until none is any more."""
    deps, taken = service.dependencies, 0
    callers = Callers(Budgets(StandingClock()), ApiBudgets(), 1, 16, 6)
    going = [Address(f"0x{number:040x}") for number in range(accounts)]
    with make_app(deps).test_request_context(headers=from_(HOME)):
        while going:
            for account in list(going):
                try:
                    callers.charge_account(own, shared, account, cost)
                    taken += cost
                except ServiceError:
                    going.remove(account)
    return taken


def behind_an_address(own: Budget, shared: Budget, cost: int = 1) -> ParameterSet:
    bound = (
        f"`{own.name}` in {own.seconds:,} s: {own.amount:,} of an account, {shared.amount:,} of new accounts behind a "
        f"network address, {AT_MOST * shared.amount:,} of all of them"
    )
    return pytest.param(own, shared, cost, marks=pytest.mark.attack(bound), id=own.name)


@pytest.mark.parametrize(
    ("own", "shared", "cost"),
    [
        behind_an_address(USUAL.account, USUAL.address),
        behind_an_address(USUAL.publications, USUAL.publications_of_address),
        behind_an_address(USUAL.uploads, USUAL.uploads_of_address),
        behind_an_address(USUAL.upload_mebibytes, USUAL.upload_mebibytes_of_address, 1_024),
        behind_an_address(USUAL.envelopes, USUAL.envelopes_of_address),
    ],
)
def test_accounts_behind_an_address_pass_no_bound_together(
    service: Service, own: Budget, shared: Budget, cost: int
) -> None:
    """Accounts that were let through need no share; a thousand of them are no way around the address's budget."""
    mine, ours = (replace(budget, shared=False) for budget in (own, shared))
    assert granted(service, mine, ours, 1, cost) == mine.amount
    assert granted(service, mine, ours, 1_000, cost) == AT_MOST * ours.amount


def of_an_address(budget: Budget) -> ParameterSet:
    bound = f"`{budget.name}` in {budget.seconds:,} s: {budget.amount:,} of a network address"
    return pytest.param(budget, marks=pytest.mark.attack(bound), id=budget.name)


@pytest.mark.attack(
    f"any budget of a network address: {IPV6_SHARES[56]} times of a /56 of IPv6, {IPV6_SHARES[48]} of a /48"
)
@pytest.mark.parametrize(
    "budget",
    [
        of_an_address(each)
        for each in (
            USUAL.reads,
            USUAL.subgraph,
            USUAL.reviews_of_address,
            USUAL.page_checks,
            USUAL.arrivals,
        )
    ],
)
def test_networks_of_one_site_have_sixteen_times_the_budget_together(service: Service, budget: Budget) -> None:
    callers = Callers(Budgets(StandingClock()), ApiBudgets(), 1, 16, 6)
    budget, app, taken = replace(budget, shared=False), make_app(service.dependencies), list[str]()
    for network in range(64):  # each a /64 of its own, four of them in each /56
        address = f"2001:db8:7:{network // 4:02x}{network % 4:02x}::1"
        with app.test_request_context(headers=from_(address)), suppress(ServiceError):
            while True:
                callers.charge(budget)
                taken.append(address)
    assert Counter(taken)[taken[0]] == budget.amount
    assert len([each for each in taken if each.startswith("2001:db8:7:00")]) == IPV6_SHARES[56] * budget.amount
    assert len(taken) == IPV6_SHARES[48] * budget.amount


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What each read takes of the processor from now on: its one item, in seconds."""
    seconds, spent = [0.0], [0.0]

    def thread_time() -> float:
        spent[0] += seconds[0]
        return spent[0]

    monkeypatch.setattr("service_common.web.callers.time", SimpleNamespace(thread_time=thread_time))
    return seconds


@pytest.mark.attack(f"a public read counts as one for each {READ_SECONDS * 1000:.0f} ms of a processor")
def test_read_counts_by_the_processor_time_that_it_takes(service: Service, busy: list[float]) -> None:
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 10, 60))) as client:

        def left() -> tuple[int, str]:
            answer = client.get("/api/readiness-rubric", headers=from_(HOME))
            return answer.status_code, answer.headers["RateLimit"].split(";")[1]

        assert left() == (200, "r=9")
        busy[0] = 0.0249
        assert left() == (200, "r=4")  # one and four more
        busy[0] = 60.0
        assert left() == (200, "r=0")  # what it cost beyond its budget is not owed
        busy[0] = 0.0
        assert left() == (429, "r=0")


@pytest.mark.attack(f"a query counts as one for each {QUERY_SECONDS * 1000:.0f} ms of a processor")
@pytest.mark.usefixtures("redis")
def test_query_counts_by_the_processor_time_that_it_takes(service: Service, busy: list[float]) -> None:
    query = {"query": "{ _meta { block { number } } }"}
    with behind_a_proxy(service, ApiBudgets(subgraph=Budget("subgraph", 10, 60, shared=True))) as client:
        busy[0] = 0.1001
        answers = [client.post("/subgraph", json=query, headers=from_(HOME)) for _ in range(3)]
    assert [each.status_code for each in answers] == [200, 200, 429]
    assert '"subgraph";r=4' in answers[0].headers["RateLimit"]


@pytest.mark.attack("any budget, in any time as long as its window: twice the amount")
def test_windows_that_meet_hold_twice_the_budget() -> None:
    clock, budget = HandClock(), Budget("reads", 100, 60)
    budgets = Budgets(clock)
    budgets.take(budget, HOME)
    clock.time = 59.9
    late = sum(budgets.take(budget, HOME).granted for _ in range(200))
    clock.time = 60.1
    early = sum(budgets.take(budget, HOME).granted for _ in range(200))
    assert (late, early) == (99, 100)


@pytest.mark.attack
@pytest.mark.usefixtures("redis")
def test_upload_urls_are_counted_by_the_bytes_they_are_for(service: Service) -> None:
    bounty_id, solver = open_bounty(service), service.world.solver(1)
    path = f"/api/bounties/{bounty_id}/submissions/{solver.address}/artifact-upload-url"
    with behind_a_proxy(service, ApiBudgets(upload_mebibytes=Budget("upload-mebibytes", 1_026, HOUR))) as client:

        def ask(byte_length: int) -> int:
            body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": byte_length}).encode()
            signed = service.authorization(solver.private_key, "POST", path, body=body)
            headers = {"Authorization": signed, "Content-Type": "application/json", **from_(HOME)}
            return client.post(path, data=body, headers=headers).status_code

        assert [ask(1 << 30), ask((1 << 20) + 1), ask(1)] == [200, 200, 429]


@pytest.mark.attack
@pytest.mark.usefixtures("redis")
def test_reviews_of_an_address_are_few_however_many_accounts_it_has(service: Service) -> None:
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
    with reading(service.dependencies.engine) as connection:
        assert connection.execute(select(func.count()).select_from(t.review_charges)).scalar_one() == 3


@pytest.mark.attack
@pytest.mark.usefixtures("redis")
def test_review_that_another_request_paid_for__counts_for_the_address_that_starts_it(service: Service) -> None:
    """Of two requests for one page the first pays for its Poster; the second may be the one that starts the review."""
    path, key, page = "/api/bounty-challenge-specs/prepare-publication", new_key(), page_for(service.world)
    poster = Address(key.address.lower())
    first = review_id(poster, spec_commitment(page), current_rubric().hash)
    with writing(service.dependencies.engine) as connection:
        connection.execute(insert(t.review_charges).values(review_id=first, poster=poster))
    budget = Budget("reviews-of-address", 0, 24 * HOUR)
    with behind_a_proxy(service, ApiBudgets(reviews_of_address=budget)) as client:
        query = f"poster_address={key.address}"
        signed = service.authorization(key.secret.hex(), "POST", path, query=query, body=page)
        headers = {"Authorization": signed, "Content-Type": "text/markdown", **from_(HOME)}
        refused = client.post(f"{path}?{query}", data=page, headers=headers)
    assert (refused.status_code, error_of(refused)["code"]) == (429, "rate_limit_reached")
    with reading(service.dependencies.engine) as connection:
        assert connection.execute(select(reviews.c.review_id).where(reviews.c.review_id == first)).first() is None


@pytest.mark.usefixtures("redis")
def test_upload_url__beyond_the_budget__is_429_and_a_stranger_uses_up_nothing(service: Service) -> None:
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
    assert '"uploads";r=0;t=' in refused.headers["RateLimit"]
    assert '"uploads";q=2;w=3600' in refused.headers["RateLimit-Policy"]


def test_public_read__beyond_its_addresss_budget__is_429_for_that_address_alone(service: Service) -> None:
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 2, 60))) as client:
        answers = [client.get("/api/readiness-rubric", headers=from_(HOME)) for _ in range(3)]
        assert [each.status_code for each in answers] == [200, 200, 429]
        assert [each.headers["RateLimit"].split(";t=")[0] for each in answers] == [
            '"reads";r=1', '"reads";r=0', '"reads";r=0',
        ]  # fmt: skip
        assert 1 <= int(answers[2].headers["Retry-After"]) <= 60
        assert "RateLimit" in answers[2].headers["Access-Control-Expose-Headers"]
        assert client.get("/api/readiness-rubric", headers=from_(CAFE)).status_code == 200
        pretending = {"X-Forwarded-For": f"{CAFE}, {HOME}"}
        assert client.get("/api/readiness-rubric", headers=pretending).status_code == 429
        assert [client.get("/healthz", headers=from_(HOME)).status_code for _ in range(5)] == [200] * 5


def test_request__from_inside_the_deployment__has_no_budget_of_a_single_caller(service: Service) -> None:
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 1, 60))) as client:
        answers = [client.get("/api/readiness-rubric") for _ in range(3)]
    assert [each.status_code for each in answers] == [200] * 3
    assert "RateLimit" not in answers[0].headers


def test_read__that_is_kept__is_free(service: Service) -> None:
    with behind_a_proxy(service, ApiBudgets(reads=Budget("reads", 1, 60))) as client:
        answers = [client.get("/api/deployment", headers=from_(HOME)) for _ in range(20)]
    assert {each.status_code for each in answers} == {200}


@pytest.mark.usefixtures("redis")
def test_query__beyond_its_addresss_budget__is_429_before_it_is_read(service: Service) -> None:
    with behind_a_proxy(service, ApiBudgets(subgraph=Budget("subgraph", 1, 60, shared=True))) as client:
        asked = [client.post("/subgraph", json={"query": "{"}, headers=from_(HOME)) for _ in range(2)]
    assert [each.status_code for each in asked] == [400, 429]


def test_signed_requests__of_an_account__beyond_its_budget_are_429_after_their_proof(service: Service) -> None:
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


def test_signed_requests__of_an_address_that_sends_too_many__are_503_before_anything_is_read(service: Service) -> None:
    path = "/api/bounty-challenge-specs/prepare-publication"
    with behind_a_proxy(service, ApiBudgets(arrivals=Budget("arrivals", 2, 10))) as client:
        asked = [client.post(path, data=b"x" * 400_000, headers=from_(HOME)) for _ in range(3)]
        assert [each.status_code for each in asked] == [415, 415, 503]
        assert (error_of(asked[2])["code"], int(asked[2].headers["Retry-After"]) >= 1) == ("service_overloaded", True)
        assert client.post(path, headers=from_(CAFE)).status_code == 415


@pytest.mark.usefixtures("redis")
def test_pages__of_a_poster_beyond_the_budget__are_429_before_they_are_parsed(service: Service) -> None:
    poster = service.world.people.poster
    path, query = "/api/bounty-challenge-specs/prepare-publication", f"poster_address={poster.address}"
    with behind_a_proxy(service, ApiBudgets(publications=Budget("publications", 2, HOUR, shared=True))) as client:

        def publish(page: bytes) -> TestResponse:
            key = poster.wallet.private_key
            signed = service.authorization(key, "POST", path, query=query, body=page)
            headers = {"Authorization": signed, "Content-Type": "text/markdown", **from_(HOME)}
            return client.post(f"{path}?{query}", data=page, headers=headers)

        assert [publish(b"no page %d" % number).status_code for number in range(3)] == [400, 400, 429]


def test_turns__of_one_address__are_few_at_a_time_and_nobody_elses(service: Service) -> None:
    callers = Callers(Budgets(SystemClock()), ApiBudgets(), 1, 16, 6)
    app = make_app(service.dependencies)

    def take(turns: ExitStack, address: str | None) -> bool:
        with app.test_request_context(headers={} if address is None else from_(address)):
            try:
                turns.enter_context(callers.turn("queries", 2))
            except ServiceError as error:
                assert (error.code, error.status) == ("service_overloaded", 503)
                return False
        return True

    with ExitStack() as turns:
        assert [take(turns, HOME) for _ in range(3)] == [True, True, False]
        assert take(turns, CAFE)
        assert all(take(turns, None) for _ in range(5))  # from inside the deployment
    with ExitStack() as turns:
        assert take(turns, HOME)


def test_turn__that_took_long__keeps_its_place_for_as_long_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers = Callers(Budgets(SystemClock()), ApiBudgets(), 1, 16, 6)
    app, resting = make_app(service.dependencies), list[tuple[float, Callable[[], object]]]()
    monkeypatch.setattr("service_common.web.callers._later", lambda seconds, act: resting.append((seconds, act)))

    def take(rests_after: float | None, address: str | None = HOME, *, failing: bool = False) -> bool:
        headers = {} if address is None else from_(address)
        with app.test_request_context(headers=headers), suppress(ZeroDivisionError):
            try:
                with callers.turn("queries", 1, rests_after=rests_after):
                    assert not failing or 1 / 0
            except ServiceError:
                return False
        return True

    assert all(take(each) for each in (None, 60.0, 60.0))
    assert resting == []
    assert take(0.0, failing=True)
    assert not take(60.0)
    assert take(60.0, CAFE)
    ((seconds, end),) = resting
    assert 0 < seconds <= MOST_REST_SECONDS
    end()
    resting.clear()
    assert take(60.0)
    assert take(0.0, None)
    assert resting == []  # of many people, from inside the deployment


def test_turn__that_is_waited_for__is_had_when_the_one_before_ends_and_not_later_than_patience() -> None:
    work = AtWork()
    with ExitStack() as first, ExitStack() as second, ThreadPoolExecutor(1) as pool:
        assert work.begin("queries", 1, first)
        assert not work.begin("queries", 1, second, patience=0.01)
        waiting = pool.submit(work.begin, "queries", 1, second, patience=60)
        first.close()
        assert waiting.result()
        assert not work.begin("queries", 1, first)
        assert work.begin("others", 1, first)


def test_requests__of_one_address__are_few_at_a_time_and_nobody_elses() -> None:
    callers = Callers(Budgets(SystemClock()), ApiBudgets(), 1, 2, 6)

    def admit(places: ExitStack, address: str | None) -> bool:
        told = {} if address is None else {"HTTP_X_FORWARDED_FOR": address}
        return callers.admit({"REMOTE_ADDR": "10.0.0.1", **told}, 240, places)

    with ExitStack() as places:
        assert [admit(places, HOME) for _ in range(3)] == [True, True, False]
        assert admit(places, CAFE)
        assert all(admit(places, None) for _ in range(5))  # from inside the deployment
    with ExitStack() as places:
        assert admit(places, HOME)


@pytest.mark.attack(
    f"requests of a network address that a process answers at a time: {AtOnce().requests}, and no more than one in "
    f"{FREE_PART} of the places that are free"
)
@pytest.mark.parametrize(("free", "admitted"), [(240, 16), (100, 12), (9, 1), (1, 1)])
def test_address_has_fewer_places_the_fewer_are_free(free: int, admitted: int) -> None:
    callers = Callers(Budgets(SystemClock()), ApiBudgets(), 1, 16, 6)
    with ExitStack() as places:
        home = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": HOME}
        assert sum(callers.admit(dict(home), free, places) for _ in range(20)) == admitted


def test_requests__of_one_address_over_its_part__are_503_before_the_framework_and_a_probe_is_answered(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = list[object]()
    monkeypatch.setattr(edge, "log", SimpleNamespace(info=lambda _event, **told: lines.append(told["status"])))
    monkeypatch.setattr(Callers, "admit", lambda its, environ, *_: its.network_of(environ) is None)
    with behind_a_proxy(service, ApiBudgets()) as client:
        refused = client.get("/api/readiness-rubric", headers=from_(HOME))
        assert (refused.status_code, error_of(refused)["code"]) == (503, "service_overloaded")
        assert [client.get(path, headers=from_(HOME)).status_code for path in ("/healthz",)] == [200]
        assert client.get("/api/readiness-rubric").status_code == 200
    assert lines == [200]  # nobody fills the log with what is refused


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long refused requests were made to wait, one after the other."""
    waited = list[float]()
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def test_address__refused_too_often__is_answered_slowly_until_its_window_ends(
    service: Service, pauses: list[float]
) -> None:
    refused, found = "/api/bounties?nonsense=1", "/api/readiness-rubric"
    with behind_a_proxy(service, ApiBudgets(refusals=Budget("refusals", 3, 60))) as client:

        def ask(path: str, address: str = HOME) -> int:
            return client.get(path, headers=from_(address)).status_code

        assert [ask(refused) for _ in range(2)] + [ask("/api/bounties/999")] == [400, 400, 404]
        assert pauses == []
        assert [ask(refused) for _ in range(2)] == [400, 400]
        assert pauses == [edge.SLOWED_SECONDS] * 2  # from the third on
        assert ask(found) == 200  # what is not refused is answered without a pause, and others are as before
        assert ask(refused, CAFE) == 400
        assert client.get(refused).status_code == 400  # from inside the deployment
        assert len(pauses) == 2


@pytest.mark.attack(
    f"answers that refuse a network address: {USUAL.refusals.amount} in {USUAL.refusals.seconds} s, then "
    f"{SLOWED_AT_ONCE} requests at a time"
)
def test_address__answered_slowly__has_two_requests_at_a_time_and_four_bodies() -> None:
    callers = Callers(Budgets(SystemClock()), ApiBudgets(refusals=Budget("refusals", 1, 60)), 1, 16, 6)
    home = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": HOME}
    callers.count_refusal(dict(home))
    assert callers.is_slowed(dict(home))
    with ExitStack() as places:
        assert [callers.admit(dict(home), 240, places) for _ in range(3)] == [True, True, False]
        assert callers.admit({**home, "HTTP_X_FORWARDED_FOR": CAFE}, 240, places)
    bodies, taken = OpenBodies(), list[bool]()

    class Endless:
        """While a body is read, another one of the same address comes."""

        def read(self, size: int) -> bytes:
            if len(taken) < 6:
                taken.append(bodies.receive(self.request(), HOME, slowed=True))
            return b""

        def request(self) -> dict[str, object]:
            return {"SERVER_PROTOCOL": "HTTP/1.1", "CONTENT_LENGTH": "9", "wsgi.input": self}

    bodies.receive(Endless().request(), HOME, slowed=True)
    assert False in taken
    assert bodies.receive({**Endless().request(), "wsgi.input": BytesIO()}, CAFE, slowed=True)


@pytest.mark.attack
def test_refusals__of_one_who_sends_too_much__are_no_failures_of_the_service(
    service: Service, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    before, path = failed(), "/api/readiness-rubric"
    signed = "/api/bounty-challenge-specs/prepare-publication"
    with behind_a_proxy(service, ApiBudgets(arrivals=Budget("arrivals", 1, 10))) as client:
        asked = [client.post(signed, data=b"x", headers=from_(HOME)).status_code for _ in range(3)]
        assert asked == [415, 503, 503]
        monkeypatch.setattr(AtWork, "begin", lambda _, key, *__, **___: not isinstance(key, tuple))  # of one address
        assert client.get(path, headers=from_(HOME)).status_code == 503
        assert client.post(signed, data=b"x", headers=from_(CAFE)).status_code == 503
        assert failed() == before
        monkeypatch.setattr(AtWork, "begin", lambda *_: False)
        assert client.get(path).status_code == 503  # there is no place for anybody
        assert failed() == before + 1


@pytest.mark.attack
def test_answers__for_which_nothing_was_attempted__drown_no_outage(service: Service) -> None:
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


def test_requests__that_are_shed__wait_for_their_turn_and_too_many_do_not_wait(
    service: Service, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    monkeypatch.setattr(AtWork, "begin", lambda *_: False)
    with behind_a_proxy(service, ApiBudgets()) as client:
        assert client.get("/api/readiness-rubric", headers=from_(HOME)).status_code == 503
        assert pauses == [edge.SHED_SECONDS]
    monkeypatch.setattr(edge, "MAX_WAITING", 0)
    with behind_a_proxy(service, ApiBudgets()) as client:
        assert client.get("/api/readiness-rubric", headers=from_(HOME)).status_code == 503
        assert pauses == [edge.SHED_SECONDS]


def test_configuration__of_budgets__names_them_and_multiplies_all(service: Service) -> None:
    own = {"SERVICE_BUDGETS": "reads=7/30, uploads=2/60", "SERVICE_BUDGET_FACTOR": "10"}
    budgets = read_config({**service.variables, **own}).budgets
    assert (budgets.reads, budgets.uploads) == (Budget("reads", 70, 30), Budget("uploads", 20, 60, shared=True))
    assert budgets.subgraph.amount == 10 * ApiBudgets().subgraph.amount
    assert read_config({**service.variables, **own}).at_once == AtOnce(
        publications=40, page_checks=20, queries=10, requests=160
    )
    for wrong in ("reads", "reads=1", "everything=1/1", "reads=1/1;uploads=2/2"):
        with pytest.raises(ConfigurationError, match="SERVICE_BUDGETS"):
            read_config({**service.variables, "SERVICE_BUDGETS": wrong})
