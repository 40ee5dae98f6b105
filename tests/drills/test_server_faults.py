"""Servers that answer, but not what is needed: no connection left, another password, a full disk.

Run by ``./noxw -s nightly -- outages``: it waits for real timeouts.
"""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
import pytest
from local_stack.stack import DATABASE
from psycopg import sql

from tests.drills.scene import PATIENCE_SECONDS, Answer, Scene, eventually

ROUTES = ("alive", "detail", "graphql", "delivery_status", "content", "upload_url", "deployment", "publication")
AT_ONCE = 60
"""More than the api's connections, fewer than the requests it lets in."""
UNAVAILABLE = (503, "bounty_projection_unavailable")
OVERLOADED = (503, "service_overloaded")
"""Of reads that wait until one computes its answer: only so many do at a time."""


@contextmanager
def superuser(scene: Scene) -> Iterator[psycopg.Connection]:
    with psycopg.connect(scene.stack.postgres.url(DATABASE), autocommit=True) as connection:
        yield connection


def test_connections__all_held__are_waited_for_no_longer_than_the_bound(scene: Scene) -> None:
    def timed(bounty_id: int) -> tuple[Answer, float]:
        began = time.monotonic()
        return scene.ask("GET", f"/api/bounties/{bounty_id}"), time.monotonic() - began

    time.sleep(1.5)  # what a process remembers of public reads is older than it shows
    with superuser(scene) as connection, ThreadPoolExecutor(AT_ONCE) as pool, connection.transaction():
        connection.execute("LOCK TABLE hub_index.head IN ACCESS EXCLUSIVE MODE")
        # Each asks for another bounty: who asks for the same waits for one answer, and holds no connection.
        asked = [pool.submit(timed, number) for number in range(1, AT_ONCE + 1)]
        for _ in range(10):
            assert scene.alive() == (200, "")
            time.sleep(0.2)
        answers = [each.result() for each in asked]
    assert UNAVAILABLE in {answer for answer, _ in answers} <= {UNAVAILABLE, OVERLOADED}
    assert max(seconds for _, seconds in answers) < PATIENCE_SECONDS
    eventually(lambda: scene.all_well(ROUTES))


def test_password__of_the_database_changed__is_told_without_it_and_over_once_put_right(scene: Scene) -> None:
    password = unquote(urlsplit(scene.stack.launcher.databases["service_api"]).password or "")
    assert len(password) > 20

    def set_password(text: str) -> None:
        with superuser(scene) as connection:
            connection.execute(sql.SQL("ALTER ROLE service_api PASSWORD {}").format(sql.Literal(text)))
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'service_api'")

    set_password("another-one-altogether")
    try:
        time.sleep(1.5)
        assert (scene.detail(), scene.graphql(), scene.upload_url()) == (UNAVAILABLE,) * 3
        assert scene.alive() == (200, "")
        assert not scene.stack.services["api"].is_ready()
    finally:
        set_password(password)
    eventually(lambda: scene.all_well(ROUTES))
    eventually(scene.stack.services["api"].is_ready)
    log = (scene.stack.runtime.logs / "api.log").read_text()
    assert "password authentication failed" in log
    assert password not in log


@contextmanager
def full_disk(scene: Scene, table: str) -> Iterator[None]:
    """The table's next page finds no space left on the device: its file is the one that is always full."""
    server = scene.stack.postgres
    with superuser(scene) as connection:
        connection.execute(f"TRUNCATE {table}")
        row = connection.execute("SELECT pg_relation_filepath(%s)", (table,)).fetchone()
    assert row is not None
    file = Path(server._directory) / "data" / str(row[0])
    kept = file.with_name(f"{file.name}.kept")
    server.stop()
    file.rename(kept)
    file.symlink_to("/dev/full")
    server.restart()
    try:
        yield
    finally:
        server.stop()
        file.unlink()
        kept.rename(file)
        server.restart()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("app.review_charges", UNAVAILABLE),
        ("review.paid_calls", (502, "orchestrator_provider_error")),
    ],
)
def test_disk__of_the_database_full__is_told_by_what_writes_there_and_nothing_else(
    scene: Scene, table: str, told: tuple[int, str]
) -> None:
    with full_disk(scene, table):
        reads = [route for route in ROUTES if route != "publication"]
        eventually(lambda: scene.all_well(reads))
        assert scene.publication() == told
        assert scene.publication() == told
        assert scene.all_well(reads)
        said = (scene.stack.runtime.logs / "postgres.log").read_text()
        assert "No space left on device" in said
    eventually(lambda: scene.all_well(ROUTES))


def test_disk__of_the_storage_full__stops_an_upload_that_is_continued_once_there_is_room(scene: Scene) -> None:
    person = scene.cast.person("solver-2")
    work = person.home / "large"
    work.mkdir()
    (work / "work.bin").write_bytes(os.urandom(200_000))
    with scene.stack.gcs.without_room(65_536):
        refused = person.run("solver:submit", scene.bounty.bounty_id, str(work), code=1)
        assert all(getattr(scene, route)()[0] == 200 for route in ROUTES)
    assert "submit.submission_recorded" not in {event.name for event in refused.events}
    person.run("solver:submit", scene.bounty.bounty_id, str(work)).event("submit.submission_recorded")
