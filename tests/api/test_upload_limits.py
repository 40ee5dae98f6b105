"""Limits on upload URLs: each Solver has its own, those behind one address share another, a stranger takes neither."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from service_api.app import make_app
from service_api.config import UploadLimits, read_config
from service_api.dependencies import make_dependencies
from service_api.usecases.upload_limits import WINDOW_SECONDS, client_network, take_place
from service_common.errors import ServiceError
from service_common.types import Address
from service_common.web.settings import client_address
from werkzeug.test import TestResponse

from tests.api.conftest import Service, error_of
from tests.api.test_submissions import open_bounty
from tests.proxy import proxies

ONE, TWO, THREE = (Address("0x" + digit * 40) for digit in "123")
HOME, CAFE = "203.0.113.7", "198.51.100.1"


@pytest.fixture
def counts(service: Service) -> Iterator[Redis]:
    """No request counted before, and none of this test's after it."""
    _forget(service.dependencies.redis)
    yield service.dependencies.redis
    _forget(service.dependencies.redis)


def _forget(redis: Redis) -> None:
    for key in redis.scan_iter("rate:*"):
        redis.delete(key)


def wait_of(redis: Redis, limits: UploadLimits, account: Address, client: str) -> int:
    """Seconds to wait; 0 where the request was let through."""
    try:
        take_place(redis, limits, account, client)
    except ServiceError as error:
        assert (error.code, error.status) == ("rate_limit_reached", 429)
        assert error.retry_after is not None
        return error.retry_after
    return 0


def test_limit__of_one_solver__is_refilled_evenly_and_is_nobody_elses(counts: Redis) -> None:
    limits = UploadLimits(solver=3, client=100)
    assert [wait_of(counts, limits, ONE, HOME) for _ in range(3)] == [0, 0, 0]
    assert 0 < WINDOW_SECONDS / 3 - wait_of(counts, limits, ONE, CAFE) + 2 < 10
    assert wait_of(counts, limits, TWO, HOME) == 0


def test_limit__whose_count_was_made_but_its_answer_lost__is_not_counted_again(service: Service, counts: Redis) -> None:
    limits, address = UploadLimits(solver=2, client=100), service.variables["SERVICE_REDIS_URL"]
    with proxies(urlsplit(address).port or 0) as (far,), ThreadPoolExecutor(1) as pool:
        redis = make_dependencies(
            read_config({**service.variables, "SERVICE_REDIS_URL": far.url(address)})
        ).limits_redis
        redis.ping()
        far.delay = 1.0
        asked = pool.submit(wait_of, redis, limits, ONE, HOME)
        while not counts.exists(f"rate:upload:account:{ONE}"):
            assert not asked.done()
        far.cut()
        far.mend()
        assert asked.result(20) == 0
        redis.close()
    assert wait_of(counts, limits, ONE, HOME) == 0
    assert wait_of(counts, limits, ONE, HOME) > 0


def test_limit__what_was_refused__is_not_counted(counts: Redis) -> None:
    limits = UploadLimits(solver=1, client=2)
    assert wait_of(counts, limits, ONE, HOME) == 0
    for _ in range(5):
        assert wait_of(counts, limits, ONE, HOME) <= WINDOW_SECONDS
    assert wait_of(counts, limits, TWO, HOME) == 0


def test_limit__of_an_address__holds_up_new_accounts_but_none_already_let_through(counts: Redis) -> None:
    limits = UploadLimits(solver=5, client=2)
    assert wait_of(counts, limits, ONE, HOME) == 0
    assert wait_of(counts, limits, TWO, HOME) == 0
    assert wait_of(counts, limits, THREE, HOME) > 0
    assert wait_of(counts, limits, ONE, HOME) == 0
    assert wait_of(counts, limits, THREE, CAFE) == 0


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("", "unknown"),
        ("somebody:with:keys", "unknown"),
    ],
)
def test_client__of_an_address__is_what_one_subscriber_has(address: str, client: str) -> None:
    assert client_network(address) == client


@pytest.mark.parametrize(
    ("forwarded", "hops", "seen"),
    [
        ("", 0, "10.0.0.1"),
        ("6.6.6.6", 0, "10.0.0.1"),
        ("6.6.6.6, 203.0.113.7", 1, "203.0.113.7"),
        ("203.0.113.7, 10.0.0.2", 2, "203.0.113.7"),
        ("203.0.113.7", 2, "10.0.0.1"),
        ("", 1, "10.0.0.1"),
    ],
)
def test_client_address__behind_proxies__is_what_the_outermost_of_ours_saw(
    forwarded: str, hops: int, seen: str
) -> None:
    assert client_address("10.0.0.1", forwarded, hops) == seen


def test_upload_url__beyond_the_limit__is_429_and_a_stranger_uses_up_nothing(service: Service, counts: Redis) -> None:
    bounty_id, solver = open_bounty(service), service.world.solver(1)
    config = service.dependencies.config
    limited = replace(service.dependencies, config=replace(config, uploads=UploadLimits(solver=2, client=100)))
    client = make_app(limited).test_client()
    path = f"/api/bounties/{bounty_id}/submissions/{solver.address}/artifact-upload-url"
    body = json.dumps({"ciphertext_sha256": "0x" + "11" * 32, "ciphertext_byte_length": 5}).encode()

    def ask(key: str, sent: bytes = body) -> TestResponse:
        headers = {"Authorization": service.authorization(key, "POST", path, body=sent)}
        return client.post(path, data=sent, headers=headers | {"Content-Type": "application/json"})

    stranger = service.world.solver(2).private_key
    assert [ask(stranger).status_code for _ in range(3)] == [403, 403, 429]
    assert client.post(path, data=body, headers={"Content-Type": "application/json"}).status_code == 401
    assert [ask(solver.private_key).status_code for _ in range(2)] == [200, 200]
    refused = ask(solver.private_key, b"{}")  # the limit is told before the body is looked at
    assert (refused.status_code, error_of(refused)["code"]) == (429, "rate_limit_reached")
    assert 1_700 < int(refused.headers["Retry-After"]) <= 1_801


def test_limits__while_redis_does_not_answer__let_everybody_through() -> None:
    silent = Redis(port=9, retry=Retry(NoBackoff(), 0))
    assert [wait_of(silent, UploadLimits(1, 1), ONE, HOME) for _ in range(2)] == [0, 0]
