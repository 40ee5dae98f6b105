"""The cost of publishing a challenge: the rules, a check of a page through api and reviewer, the api beside the review,
and everyone else while reviews wait."""

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import urllib3
from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from local_stack import valkey
from local_stack.ports import HOST

from bench.figures import Figure, Report, median
from bench.http.load import load, post, rate
from tests.api.conftest import Service, running_service
from tests.api.pages import page_for
from tests.api.running import RunningApi, start_api
from tests.protocol.auth.signing import Key
from tests.reviewer.labelled import CORPUS, REVEAL_DELAY, WRITTEN_AT
from tests.scraping import start

ROUNDS: Final = 7
PUBLICATIONS: Final = 40
WAITING: Final = 100
PATH: Final = "/api/bounty-challenge-specs/prepare-publication"
CHECK: Final = "/api/bounty-challenge-specs/check"


def run(report: Report) -> None:
    """Measure the group."""
    with running_service() as service:
        _check(service, report)
        _overhead(service, report)
        _others(service, report)


def _check(service: Service, report: Report) -> None:
    """A page checked before it is published, by api, reviewer and a process for its rules: the whole answer."""
    material, port = _long_page(20 * 1024), service.runtime.port()
    page, judge = material.content, review
    start(service.runtime, "reviewer-http", {"SERVICE_PORT": str(port)}, "service-reviewer", "serve")
    api = start_api(service.runtime, {**service.variables, "SERVICE_REVIEWER_URL": f"http://{HOST}:{port}"})
    http, url = urllib3.PoolManager(retries=False), f"http://{HOST}:{api.port}{CHECK}"
    headers = {"Content-Type": "text/markdown"}
    while http.request("POST", url, body=page, headers=headers).status != 200:
        time.sleep(0.1)  # the reviewer still loads
    seconds, alone = [], []
    for _ in range(PUBLICATIONS):
        service.world.index()
        began = time.perf_counter()
        status = http.request("POST", url, body=page, headers=headers).status
        answered = time.perf_counter()
        assert status == 200, status
        judge(material)
        seconds.append(answered - began)
        alone.append(time.perf_counter() - answered)
    value, reference = median(seconds) * 1000, median(alone) * 1000
    report(Figure("publish.check", value, "ms", "<= 30", value <= 30, "the rules alone", reference))


def _long_page(length: int) -> Material:
    """Return a ready page, made long with the prose of the others."""
    pages = [path.read_text(encoding="utf-8") for path in sorted((CORPUS / "ready").glob("*.md"))]
    prose = "".join(page.split("---\n", 2)[2] for page in pages)
    content = (pages[0] + prose).encode()[:length].decode(errors="ignore").encode()
    return Material(parse_challenge(content), content, WRITTEN_AT, REVEAL_DELAY)


def _overhead(service: Service, report: Report) -> None:
    """Publications whose review is there already: everything but the review."""
    api = start_api(service.runtime, service.variables)
    poster = Key(secrets.token_bytes(32))
    page = page_for(service.world, title="Published often")
    seconds = []
    for number in range(PUBLICATIONS + 1):
        service.world.node.mine(1)
        headers = _headers(service, poster, page)
        time.sleep(0.3)  # the api looks for new blocks at most every quarter of a second
        began = time.perf_counter()
        status = urllib3.request("POST", _url(api, poster), body=page, headers=headers).status
        assert status == 200, status
        if number:
            seconds.append(time.perf_counter() - began)
    value = median(seconds) * 1000
    report(Figure("publish.overhead", value, "ms", "<= 30", value <= 30))


def _others(service: Service, report: Report) -> None:
    """GraphQL reads, which keep nothing, while a hundred publications wait for a reviewer that does not come."""
    with valkey.start(service.runtime, name="valkey-without-worker") as redis:
        variables = {
            **service.variables,
            "SERVICE_REDIS_URL": redis.url(),
            "SERVICE_REVIEW_WAIT_SECONDS": "300",
            "SERVICE_FORWARDED_HOPS": "1",  # a hundred people, not one address, which has few places
        }
        api = start_api(service.runtime, variables)
        service.world.fund()
        service.world.finalize()
        query = b'{"query": "{ bounties(first: 5) { id } }"}'
        requests = [post("/subgraph", query)]
        load(api.port, requests, seconds=1.0)
        alone = [rate(api.port, requests, seconds=2.0) for _ in range(ROUNDS)]
        with _waiting(service, api):
            beside = [rate(api.port, requests, seconds=2.0) for _ in range(ROUNDS)]
    value, reference = median(beside), median(alone)
    goal = "ratio >= 0.8"
    name = "with none waiting"
    report(Figure("publish.others", value, "requests/s", goal, value / reference >= 0.8, name, reference))


@contextmanager
def _waiting(service: Service, api: RunningApi) -> Iterator[None]:
    """A hundred publications, each of another Poster, none of which is answered meanwhile."""
    answered: list[int] = []
    page = page_for(service.world, title="Waits")

    def publish(number: int, poster: Key) -> None:
        headers = {**_headers(service, poster, page), "Callers": f"198.51.100.{number}"}
        try:
            answered.append(
                urllib3.request(
                    "POST", _url(api, poster), body=page, headers=headers, timeout=600, retries=False
                ).status
            )
        except urllib3.exceptions.HTTPError:
            return  # the api ended with the benchmark

    for number in range(WAITING):
        threading.Thread(target=publish, args=(number, Key(secrets.token_bytes(32))), daemon=True).start()
    while _in_flight(service) < WAITING:
        time.sleep(0.1)
    yield
    assert answered == [], answered


def _in_flight(service: Service) -> int:
    from service_common.db import app as t
    from sqlalchemy import func, select

    with service.resources.engine.connect() as connection:
        pending = select(func.count()).select_from(t.review_charges).where(t.review_charges.c.poster != "")
        reviewed = 1  # the publication of the overhead
        return int(connection.execute(pending).scalar_one()) - reviewed


def _url(api: RunningApi, poster: Key) -> str:
    return f"http://127.0.0.1:{api.port}{PATH}?poster_address={poster.address}"


def _headers(service: Service, poster: Key, page: bytes) -> dict[str, str]:
    query = f"poster_address={poster.address}"
    signed = service.authorization(poster.secret.hex(), "POST", PATH, query=query, body=page)
    return {"Authorization": signed, "Content-Type": "text/markdown"}
