"""Servers that answer, but not what is needed: no connection left, another password, a full disk.

Run by ``./noxw -s nightly -- outages``: it waits for real timeouts.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from local_stack.stack import DATABASE

from tests.drills.scene import Scene, eventually

ROUTES = ("alive", "detail", "graphql", "delivery_status", "content", "upload_url", "deployment", "publication")
UNAVAILABLE = (503, "bounty_projection_unavailable")


@contextmanager
def superuser(scene: Scene) -> Iterator[psycopg.Connection]:
    with psycopg.connect(scene.stack.postgres.url(DATABASE), autocommit=True) as connection:
        yield connection


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
def test_full_database_disk_is_told_by_its_writers(scene: Scene, table: str, told: tuple[int, str]) -> None:
    with full_disk(scene, table):
        reads = [route for route in ROUTES if route != "publication"]
        eventually(lambda: scene.all_well(reads))
        assert scene.publication() == told
        assert scene.publication() == told
        assert scene.all_well(reads)
        said = (scene.stack.runtime.logs / "postgres.log").read_text()
        assert "No space left on device" in said
    eventually(lambda: scene.all_well(ROUTES))


def test_full_storage_stops_and_continues_an_upload(scene: Scene) -> None:
    person = scene.cast.person("solver-2")
    work = person.home / "large"
    work.mkdir()
    (work / "work.bin").write_bytes(os.urandom(200_000))
    with scene.stack.gcs.without_room(65_536):
        refused = person.run("solver:submit", scene.bounty.bounty_id, str(work), code=1)
        assert all(getattr(scene, route)()[0] == 200 for route in ROUTES)
    assert "submit.submission_recorded" not in {event.name for event in refused.events}
    person.run("solver:submit", scene.bounty.bounty_id, str(work)).event("submit.submission_recorded")
