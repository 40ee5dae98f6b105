"""Conditional requests and caching of public reads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event, Semaphore
from typing import TypeVar

import pytest
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.types import UnixSeconds
from service_api.app import make_app
from service_api.storage.port import DownloadTarget
from service_api.submissions.read_content import DOWNLOAD_LIFETIME_SECONDS, Contents, _KeptDownload
from service_common.db import app as t
from service_common.db.engine import writing
from service_common.recent import Recent
from service_common.web import versions
from service_common.web.versions import Version, json_version, version_cache
from sqlalchemy import event
from sqlalchemy.dialects.postgresql import insert
from werkzeug.test import TestResponse

from tests.api.conftest import Service, used_by
from tests.api.pages import page_for
from tests.clocks import HandClock

R = TypeVar("R")
READS = ("/api/bounties", "/api/bounties?limit=1", "/api/deployment", "/api/readiness-rubric")


@pytest.mark.parametrize("path", [*READS, "/api/schemas/bounty-challenge.json", "/api/openapi.json"])
def test_read__with_the_etag_it_was_given__is_304_without_a_body(service: Service, path: str) -> None:
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


def test_detail__as_it_changes__has_another_etag_and_is_kept_by_others_only_when_final(service: Service) -> None:
    world = service.world
    page = page_for(world, title="Kept by others")
    restore(service, page)
    bounty_id = world.create(page)
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
    world.advance_to(world.reveal_at(bounty_id))
    for number in (1, 2):
        world.award(bounty_id, world.guardian(number), world.solver(1), commitment)
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


def test_cache__within_its_staleness__asks_once_and_afterwards_anew() -> None:
    clock, made = HandClock(), []

    def make() -> Version:
        made.append(1)
        return json_version({"n": len(made)})

    cache = version_cache(clock)
    assert cache.get("a", make) is cache.get("a", make)
    clock.sleep(versions.MAX_STALENESS_SECONDS / 2 - 0.01)
    cache.get("a", make)
    assert len(made) == 1
    clock.sleep(0.01)
    assert cache.get("a", make).body == b'{"n":2}\n'
    assert cache.get("b", make).body == b'{"n":3}\n'


def test_cache__while_one_caller_makes_a_version_anew__gives_the_others_the_kept_one() -> None:
    clock = HandClock()
    cache = version_cache(clock)
    old = cache.get("a", lambda: json_version(1))
    clock.sleep(versions.MAX_STALENESS_SECONDS / 2)

    def make() -> Version:
        assert cache.get("a", fail) is old
        clock.sleep(versions.MAX_STALENESS_SECONDS / 2)
        assert cache.young("a") is None  # too old now, whoever is making it
        return json_version(2)

    def fail() -> Version:
        raise AssertionError("made twice")

    assert cache.get("a", make).body == b"2\n"


def test_content_cache__while_one_caller_looks_up_anew__gives_the_others_the_kept_value() -> None:
    clock = HandClock()
    recent: Recent[str, int] = Recent(1.0, 2, clock)
    assert recent.get("a", lambda: 1) == 1
    clock.sleep(1.0)
    assert recent.get("a", lambda: recent.get("a", lambda: 0) + 1) == 2
    clock.sleep(0.99)
    assert recent.get("a", lambda: 0) == 2
    clock.sleep(1.01)

    def slow() -> int:
        assert recent.young("a") is None  # twice its time is too old for all
        clock.sleep(2.0)
        return recent.get("a", lambda: 7)  # and a value that is being made for so long may be, too

    assert recent.get("a", slow) == 7
    for key in "bcd":
        recent.get(key, lambda: 3)
    assert list(recent._kept) == ["c", "d"]


def all_at_once(call: Callable[[int], R], begun: Semaphore, release: Event) -> list[R]:
    """What each of eight callers gets; they are released once each has begun."""
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(call, number) for number in range(8)]
        assert all(begun.acquire(timeout=60) for _ in calls)
        release.set()
        return [each.result() for each in calls]


def test_read__that_many_want_at_once_and_nobody_made__queries_once(service: Service) -> None:
    client = make_app(replace(service.resources, clock=HandClock())).test_client
    statements: list[str] = []
    begun, release = Semaphore(0), Event()

    def read(_: int) -> TestResponse:
        begun.release()
        return client().get("/api/bounties?limit=2")

    def count(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)
        assert release.wait(60)

    event.listen(service.resources.engine, "before_cursor_execute", count)
    try:
        answers = all_at_once(read, begun, release)
        together = len(statements)
        statements.clear()
        alone = client().get("/api/bounties?limit=3")
    finally:
        event.remove(service.resources.engine, "before_cursor_execute", count)
    assert {answer.status_code for answer in (*answers, alone)} == {200}
    assert len({answer.data for answer in answers}) == 1
    assert together == len(statements) > 0


class SeenClock(HandClock):
    """Counts who looks at it, as each does who finds nothing that is kept."""

    def __init__(self) -> None:
        self.looks = Semaphore(0)

    def monotonic(self) -> float:
        self.looks.release()
        return self.time


def test_content_cache__when_a_look_up_fails_that_others_wait_for__fails_for_who_made_it_alone() -> None:
    clock, release = SeenClock(), Event()
    recent: Recent[str, int] = Recent(1.0, 2, clock)
    first = Semaphore(1)

    def ask(number: int) -> str:
        def make() -> int:
            if not first.acquire(blocking=False):
                return number
            assert release.wait(60)
            raise ValueError("not one of the readers")

        try:
            recent.get("a", make)
        except ValueError:
            return "failed"
        return "found"

    assert sorted(all_at_once(ask, clock.looks, release)) == ["failed", *["found"] * 7]
    assert recent.young("a") is not None


@pytest.mark.spec(161)
def test_downloads__however_long_a_new_one_takes__are_handed_out_with_half_their_life_left(service: Service) -> None:
    clock = HandClock()
    urls = used_by(make_app(replace(service.resources, clock=clock)).test_client(), Contents)._downloads
    old, new = (_KeptDownload(1, DownloadTarget(url, UnixSeconds(0))) for url in ("old", "new"))
    urls.get("a", lambda: old)
    clock.sleep(DOWNLOAD_LIFETIME_SECONDS / 2)

    def slow() -> _KeptDownload:
        clock.sleep(DOWNLOAD_LIFETIME_SECONDS / 2)
        assert urls.get("a", lambda: new) is new  # for the others, while the storage keeps this caller waiting
        return old

    assert urls.get("a", slow) is old
    assert urls.young("a") is new


def test_cache__of_more_than_it_may_hold__forgets_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MAX_BYTES", 1_000)
    cache = version_cache(HandClock())
    for number in range(50):
        cache.get(str(number), lambda: Version(b"x" * 100, '"e"', "no-cache"))
    assert list(cache._kept) == [str(number) for number in range(40, 50)]
    assert cache._weight == 1_000


def test_cache__when_a_read_fails__keeps_nothing() -> None:
    def fail() -> Version:
        raise ValueError("no")

    cache = version_cache(HandClock())
    with pytest.raises(ValueError, match="no"):
        cache.get("a", fail)
    assert not cache._kept
