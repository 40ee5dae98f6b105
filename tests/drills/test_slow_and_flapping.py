"""Each dependency slow, then gone and back every second, under a light load: what does not need it goes on, what needs
it says the specified 503 or 502 within its bound, and nothing stays behind once it is over.

Run by ``./noxw -s nightly -- outages``: it waits for real timeouts.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil
import pytest

from tests.drills.scene import PATIENCE_SECONDS, REVIEW_WAIT_SECONDS, Answer, Scene, eventually

ROUTES = (
    "alive", "detail", "graphql", "delivery_status", "content", "upload_url", "deployment", "publication",
)  # fmt: skip
CHAIN = frozenset({"bounty_chain_state_unavailable"})
AUTHORITY = frozenset({"bounty_submission_content_authority_unavailable"})
DATABASE = frozenset({"bounty_projection_unavailable"}) | AUTHORITY
STORAGE = frozenset({"storage_unavailable"})
REVIEW = frozenset({"orchestrator_provider_error"})
MAY_FAIL: dict[str, dict[str, frozenset[str]]] = {
    "postgres": {route: DATABASE | REVIEW for route in ROUTES if route != "alive"},
    "valkey": {"publication": REVIEW},
    "rpc": {"content": AUTHORITY, "upload_url": CHAIN, "publication": CHAIN},
    "storage": {"content": STORAGE, "upload_url": STORAGE},
    "beacon": {},
    "delivery": {"delivery_status": frozenset({"delivery_unavailable"})},
    "provider": {"publication": REVIEW},
}
"""What is disturbed, and with which code each route may say so; every other one answers 200."""
SLOW_SECONDS = {"a little": 0.3, "much": 5.0}
LASTS_SECONDS = 15.0
MEMORY = 96 * 2**20


@dataclass
class Load:
    """Every route, asked in a thread of its own, one request at a time."""

    scene: Scene
    answers: list[tuple[str, Answer, float]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def keep_asking(self, route: str) -> None:
        while not self.ended.is_set():
            began = time.monotonic()
            answer: Answer = getattr(self.scene, route)()
            self.answers.append((route, answer, time.monotonic() - began))
            self.ended.wait(0.3)

    @contextmanager
    def going(self) -> Iterator[None]:
        threads = [threading.Thread(target=self.keep_asking, args=(route,)) for route in ROUTES]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in threads:
                thread.join()


@dataclass(frozen=True, slots=True)
class Held:
    """What the api's processes hold."""

    memory: int
    threads: int
    connections: int


def held(scene: Scene) -> Held:
    child = scene.stack.services["api"].child
    assert child is not None
    process = psutil.Process(child.pid)
    family = (process, *process.children(recursive=True))
    return Held(
        sum(each.memory_info().rss for each in family),
        sum(each.num_threads() for each in family),
        sum(len(each.net_connections("tcp")) for each in family),
    )


def flap(scene: Scene, name: str) -> None:
    ends = time.monotonic() + LASTS_SECONDS
    while time.monotonic() < ends:
        scene.proxies[name].cut()
        time.sleep(1)
        scene.proxies[name].mend()
        time.sleep(1)


def slow(seconds: float) -> Callable[[Scene, str], None]:
    def disturb(scene: Scene, name: str) -> None:
        scene.proxies[name].delay = seconds
        time.sleep(LASTS_SECONDS)

    return disturb


DISTURBANCES = {"flapping": flap, **{f"slow {words}": slow(seconds) for words, seconds in SLOW_SECONDS.items()}}


@pytest.fixture(scope="module")
def before(scene: Scene) -> Held:
    """What is held once every route has been asked by all at once."""
    eventually(lambda: scene.all_well(ROUTES))
    load = Load(scene)
    with load.going():
        time.sleep(5)
    return held(scene)


@pytest.mark.parametrize("how", DISTURBANCES)
@pytest.mark.parametrize("name", MAY_FAIL)
def test_disturbance_is_told_and_leaves_nothing(scene: Scene, before: Held, name: str, how: str) -> None:
    load, proxy = Load(scene), scene.proxies[name]
    with load.going():
        DISTURBANCES[how](scene, name)
        proxy.mend()
    assert {route for route, _, _ in load.answers} == set(ROUTES)
    wrong = [(route, answer) for route, answer, _ in load.answers if not allowed(name, route, answer)]
    assert wrong == []
    late = [
        each for each in load.answers if each[2] > PATIENCE_SECONDS + REVIEW_WAIT_SECONDS * (each[0] == "publication")
    ]
    assert late == []
    eventually(lambda: scene.all_well(ROUTES))
    eventually(lambda: is_normal(held(scene), before))


def allowed(name: str, route: str, answer: Answer) -> bool:
    status, code = answer
    return status == 200 or (status == (502 if code in REVIEW else 503) and code in MAY_FAIL[name].get(route, ()))


def is_normal(now: Held, before: Held) -> bool:
    """Threads and connections are as many as under the same load without a fault, or fewer."""
    return (
        now.memory <= before.memory + MEMORY
        and now.threads <= before.threads + 8
        and now.connections <= before.connections + 16
    )
