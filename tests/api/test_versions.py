"""Conditional requests and caching of public reads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event, Semaphore
from typing import TypeVar

import pytest
from bounty_protocol.domain.challenge.commitments import spec_commitment
from service_api.app import make_app
from service_common.db import app as t
from service_common.db.engine import writing
from sqlalchemy import event
from sqlalchemy.dialects.postgresql import insert
from werkzeug.test import TestResponse

from tests.api.conftest import Service
from tests.api.pages import page_for
from tests.clocks import HandClock

R = TypeVar("R")
READS = ("/api/bounties", "/api/bounties?limit=1", "/api/deployment", "/api/readiness-rubric")


@pytest.mark.parametrize("path", [*READS, "/api/schemas/bounty-challenge.json", "/api/openapi.json"])
def test_known_etag_is_304_without_a_body(service: Service, path: str) -> None:
    first = service.get(path)
    etag = first.headers["ETag"]
    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        again = service.get(path, **{"If-None-Match": known})
        assert (again.status_code, again.data) == (304, b"")
        assert again.headers["ETag"] == etag
        assert again.headers["Cache-Control"] == first.headers["Cache-Control"]
        assert again.headers["Access-Control-Allow-Origin"] == "*"
    other = service.get(path, **{"If-None-Match": '"other"'})
    assert (other.status_code, other.data) == (200, first.data)


def test_changed_detail_has_another_etag(service: Service) -> None:
    world = service.world
    page = page_for(world, title="Kept by others")
    restore(service, page)
    bounty_id = world.fund(page)
    world.finalize()
    path = f"/api/bounties/{bounty_id}"
    fresh = service.get(path)
    assert fresh.headers["Cache-Control"] == "no-cache"
    world.node.mine(1)
    world.index()
    assert service.get(path).headers["ETag"] == fresh.headers["ETag"]  # a block that changed nothing of it
    commitment = world.submit(bounty_id, world.solver(1))
    world.index()
    assert service.get(path, **{"If-None-Match": fresh.headers["ETag"]}).status_code == 200
    world.decide(bounty_id, world.solver(1), commitment)
    world.index()
    assert service.get(path).headers["Cache-Control"] == "no-cache"  # final, but its block can still be replaced
    world.finalize()
    assert service.get(path).headers["Cache-Control"] == "public, max-age=60"
    restore(service, b"other", of=page)
    altered = service.get(path)
    assert altered.json is not None
    assert (altered.json["challenge"], "verification_record" in altered.json) == (None, True)
    assert altered.headers["Cache-Control"] == "no-cache"  # whoever kept it would not see the page come back
    restore(service, page)
    assert service.get(path).headers["Cache-Control"] == "public, max-age=60"


def restore(service: Service, content: bytes, *, of: bytes | None = None) -> None:
    """Put bytes where a page is stored: its own, or others."""
    key = {"spec_commitment": spec_commitment(of or content)}
    statement = insert(t.challenge_pages).values(**key, content=content, submission_deadline=1)
    healed = statement.on_conflict_do_update(index_elements=list(key), set_={"content": content})
    with writing(service.resources.engine) as connection:
        connection.execute(healed)


def test_error__of_a_read__is_kept_by_nobody(service: Service) -> None:
    response = service.get("/api/bounties/4711")
    assert response.status_code in {404, 503}
    assert response.headers["Cache-Control"] == "no-store"
    assert "ETag" not in response.headers


def all_at_once(call: Callable[[int], R], begun: Semaphore, release: Event) -> list[R]:
    """What each of eight callers gets; they are released once each has begun."""
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(call, number) for number in range(8)]
        assert all(begun.acquire(timeout=60) for _ in calls)
        release.set()
        return [each.result() for each in calls]


def test_read_wanted_by_many_is_made_once(service: Service) -> None:
    together, alone = (make_app(replace(service.resources, clock=HandClock())).test_client for _ in range(2))
    statements: list[str] = []
    begun, release = Semaphore(0), Event()

    def read(_: int) -> TestResponse:
        begun.release()
        return together().get("/api/bounties")

    def count(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)
        assert release.wait(60)

    event.listen(service.resources.engine, "before_cursor_execute", count)
    try:
        answers = all_at_once(read, begun, release)
        count_together = len(statements)
        statements.clear()
        answers.append(alone().get("/api/bounties"))
    finally:
        event.remove(service.resources.engine, "before_cursor_execute", count)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.data for answer in answers}) == 1
    assert count_together == len(statements) > 0
