"""SIGTERM while there is work: what was accepted is answered whole, what runs is finished, nothing is done twice."""

import ctypes
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from local_stack import valkey
from local_stack.process import Child, minimal_environment
from service_common.db import app as t
from service_common.db.review import reviews
from service_common.jobs import connect
from sqlalchemy import func, select

from tests.api.conftest import Service
from tests.api.pages import page_for
from tests.api.running import Answer, RunningApi, read_answer, start_api
from tests.fakes.model import ModelTwin
from tests.protocol.auth.signing import Key
from tests.waiting import wait_until

PUBLISH = "/api/bounty-challenge-specs/prepare-publication"
GRACE_SECONDS = 40
"""What an api is given to end: above its own bound of 30 and its longest wait of 25."""
UNKILLED_SECONDS = 25
"""Less than a server gives its worker before it kills it."""
SLOW = 5
"""Requests that wait for their review: one worker does all of them within the longest wait, on a busy machine, too."""


@dataclass
class Scene:
    """An api in a process of its own, whose reviewer asks the twin, over a Redis of the test's own."""

    service: Service
    api: RunningApi
    twin: ModelTwin
    redis: valkey.ValkeyServer

    def start_worker(self) -> Child:
        """The reviewer's worker, as the images run it; it takes jobs now."""
        runtime, world, redis = self.service.runtime, self.service.world, connect(self.redis.url())
        before = redis.scard("rq:workers")
        worker = runtime.family.spawn(
            f"reviewer-{secrets.token_hex(4)}",
            [Path(sys.executable).parent / "service-reviewer", "worker"],
            environment=minimal_environment(runtime.logs)
            | self.twin.variables()
            | {
                "SERVICE_DATABASE_URL": world.database.url("service_reviewer"),
                "SERVICE_REDIS_URL": self.redis.url(),
                "SERVICE_INTERNAL_PORT": str(runtime.port()),
            },
            cwd=runtime.logs,
        )
        wait_until(lambda: redis.scard("rq:workers") > before)
        redis.close()
        return worker

    def publication(self) -> tuple[Key, bytes]:
        """A poster of its own and its whole request, signed."""
        poster = Key(secrets.token_bytes(32))
        page = page_for(self.service.world, title=f"Stopped {secrets.token_hex(4)}")
        query = f"poster_address={poster.address}"
        signed = self.service.authorization(poster.secret.hex(), "POST", PUBLISH, query=query, body=page)
        head = (
            f"POST {PUBLISH}?{query} HTTP/1.1\r\nHost: a\r\nContent-Type: text/markdown\r\nConnection: close\r\n"
            f"Authorization: {signed}\r\nContent-Length: {len(page)}\r\n\r\n"
        )
        return poster, head.encode() + page

    def rows(self, poster: Key) -> tuple[int, int]:
        """Charges and reviews of a Poster."""
        counts = []
        with self.service.resources.engine.connect() as connection:
            for table in (t.review_charges, reviews):
                wanted = select(func.count()).select_from(table).where(table.c.poster == poster.address)
                counts.append(int(connection.execute(wanted).scalar_one()))
        return counts[0], counts[1]


@pytest.fixture
def scene(service: Service) -> Iterator[Scene]:
    twin = ModelTwin()
    service.world.finalize()
    with valkey.start(service.runtime, name=f"valkey-{secrets.token_hex(4)}") as redis:
        api = start_api(service.runtime, {**service.variables, "SERVICE_REDIS_URL": redis.url()})
        yield Scene(service, api, twin, redis)
        twin.close()
        service.runtime.family.end([api.child], kill=True)
        redis.kill()


def keep_reading(api: RunningApi, path: str, stop: threading.Event) -> list[Answer]:
    """Ask until nobody listens; each answer, status 0 for a connection that ended before its first byte."""
    answers = []
    while not stop.is_set():
        try:
            answers.append(api.request("GET", path))
        except ConnectionError:
            break
    return answers


def is_whole(answer: Answer) -> bool:
    return len(answer.body) == int(answer.headers["content-length"])


@pytest.mark.nightly
def test_api__terminated_under_load__answers_what_it_accepted_refuses_the_rest_and_ends(scene: Scene) -> None:
    scene.twin.released.clear()
    worker, stop = scene.start_worker(), threading.Event()
    asked = [scene.publication() for _ in range(SLOW)]
    half_poster, half = scene.publication()
    with ThreadPoolExecutor(SLOW + 4) as pool, scene.api.connect() as unfinished:
        readers = [pool.submit(keep_reading, scene.api, "/api/bounties?limit=3", stop) for _ in range(4)]
        waiting = [pool.submit(scene.api.send, request) for _, request in asked]
        unfinished.sendall(half[:-100].replace(b"\r\n", b"\r\nExpect: 100-continue\r\n", 1))
        assert unfinished.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"  # it is at work, not only accepted
        wait_until(lambda: len(scene.twin.requests) == 1 and all(scene.rows(poster)[0] == 1 for poster, _ in asked))
        scene.api.child.send(signal.SIGTERM)
        wait_until(lambda: refuses(scene.api))
        assert not any(each.done() for each in waiting)
        unfinished.sendall(half[-100:])
        scene.twin.released.set()
        last: Future[Answer] = pool.submit(read_answer, unfinished)
        answers = [each.result(GRACE_SECONDS) for each in (*waiting, last)]
        stop.set()
        read = [answer for each in readers for answer in each.result(20)]
    wait_until(lambda: scene.api.child.exit_status() is not None, GRACE_SECONDS)
    assert scene.api.child.exit_status() == 0
    assert [(answer.status, is_whole(answer)) for answer in answers] == [(200, True)] * (SLOW + 1)
    assert {scene.rows(poster) for poster in (*(poster for poster, _ in asked), half_poster)} == {(1, 1)}
    whole = [answer for answer in read if answer.status]
    assert len(whole) >= 4
    assert all(answer.status == 200 and is_whole(answer) for answer in whole)
    scene.service.runtime.family.end([worker], kill=True)


def refuses(api: RunningApi) -> bool:
    """Whether a new connection is refused, rather than taken and left alone."""
    try:
        with socket.create_connection(("127.0.0.1", api.port), timeout=2):
            return False
    except ConnectionError:  # refused, or reset where the port was closed in that moment
        return True


@pytest.mark.parametrize("process", ["server", "job worker"])
def test_sigterm__that_another_thread_gets__ends_the_process(scene: Scene, process: str) -> None:
    """The kernel gives it to a thread that makes a thread in that moment; here to one that waits."""
    child = scene.api.child
    if process == "job worker":
        child = scene.start_worker()
        with connect(scene.redis.url()) as redis:
            wait_until(lambda: redis.info("clients")["blocked_clients"] == 1)  # it waits for a job
    send_to_another_thread(child.pid)
    wait_until(lambda: child.exit_status() is not None, UNKILLED_SECONDS)
    assert child.exit_status() == 0


def test_sigterm__that_a_servers_worker_gets__ends_it_while_it_serves_and_while_it_starts(scene: Scene) -> None:
    server = scene.api.child
    (serving,) = children(server.pid)
    send_to_another_thread(serving)
    wait_until(lambda: children(server.pid) not in ([serving], []), UNKILLED_SECONDS)
    server.send(signal.SIGTERM)  # the next one has just been made
    wait_until(lambda: server.exit_status() is not None, UNKILLED_SECONDS)
    assert server.exit_status() == 0


def children(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children()]


def send_to_another_thread(pid: int) -> None:
    """SIGTERM, to a thread of this process that is not its main one."""
    other = next(thread.id for thread in psutil.Process(pid).threads() if thread.id != pid)
    assert ctypes.CDLL(None).tgkill(pid, other, signal.SIGTERM) == 0
