"""Probes and scrapers: answered in time whatever hangs, and an outage that all share takes nobody out of service."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

import pytest
import urllib3
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from service_common import internal_port
from service_common.internal_port import Readiness, serve_internal_port
from service_common.timeouts import Figures

from tests.clocks import HandClock

pytestmark = pytest.mark.stack


@dataclass
class Dependency:
    """Answers, fails or hangs, as the test says."""

    fails: bool = False
    hangs: bool = False
    calls: int = 0
    released: Event = field(default_factory=Event)

    def __call__(self) -> None:
        self.calls += 1
        if self.hangs:
            self.released.wait(30)
        if self.fails:
            raise OSError("postgresql://somebody:secret@away")


@pytest.fixture
def dependency() -> Iterator[Dependency]:
    found = Dependency()
    yield found
    found.released.set()


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(internal_port, "CHECK_SECONDS", 0.05)


@contextmanager
def answering(
    *checks: Dependency, own: Callable[[], object] | None = None
) -> Iterator[Callable[[str], tuple[int, str]]]:
    server = serve_internal_port(0, {f"d{place}": check for place, check in enumerate(checks)}, own)
    origin = f"http://127.0.0.1:{server.server_address[1]}"

    def ask(path: str) -> tuple[int, str]:
        answer = urllib3.request("GET", origin + path, timeout=10, retries=False)
        return answer.status, answer.data.decode()

    try:
        yield ask
    finally:
        server.shutdown()
        server.server_close()


def test_no_work_before_every_dependency_answered(dependency: Dependency) -> None:
    dependency.fails = True
    with answering(dependency) as ask:
        assert (ask("/serving")[0], ask("/readyz")[0], ask("/healthz")[0]) == (503, 503, 200)


def test_outage_after_readiness_goes_on(dependency: Dependency) -> None:
    clock = HandClock()
    readiness = Readiness({"database": dependency}, clock=clock)
    assert readiness.serving()
    dependency.fails = True
    assert readiness.failing() == (), "asked once a second"
    clock.sleep(1.1)
    assert readiness.failing() == ("database",)
    assert readiness.serving()


def test_silent_own_port_gets_no_work(dependency: Dependency) -> None:
    own = Dependency()
    with answering(dependency, own=own) as ask:
        assert ask("/serving")[0] == 200
        own.fails = True
        assert (ask("/serving")[0], ask("/readyz")[0]) == (503, 200)


@pytest.mark.usefixtures("_impatient")
def test_hanging_dependency_is_asked_once(dependency: Dependency) -> None:
    dependency.hangs = True
    fine = Dependency()
    with answering(dependency, fine) as ask:
        status, body = ask("/readyz")
        assert (status, '"failing": ["d0"]' in body) == (503, True)
        assert ask("/serving")[0] == 503
        assert ask("/healthz")[0] == 200
    assert dependency.calls == 1


def test_metrics_name_the_release(dependency: Dependency) -> None:
    dependency.fails = True
    with answering(Dependency(), dependency) as ask:
        figures = ask("/metrics")[1]
    assert 'service_dependency_up{dependency="d0"} 1.0' in figures
    assert 'service_dependency_up{dependency="d1"} 0.0' in figures
    assert re.search(r'service_build_info\{program="[^"]+",revision="unknown",version="[^"]+"\} 1\.0', figures)


def thing(dependency: Dependency) -> Iterator[GaugeMetricFamily]:
    """A figure of a dependency."""
    dependency()
    yield GaugeMetricFamily("service_thing", "A thing", 1)


def test_metrics_beside_a_hang_are_in_time(dependency: Dependency) -> None:
    registry, fine = CollectorRegistry(), Dependency()
    registry.register(Figures(lambda: thing(fine), 5.0))
    dependency.hangs = True
    other = CollectorRegistry()
    other.register(Figures(lambda: thing(dependency), 0.05))
    assert b"service_thing 1.0" in generate_latest(registry)
    assert b"service_thing" not in generate_latest(other)
    assert b"service_thing" not in generate_latest(other)
    assert dependency.calls == 1
    dependency.released.set()
