"""A network that sends too much waits, and nobody else does."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from bounty_protocol.errors import ServiceError
from service_common import places
from service_common.budgets import Budgets
from service_common.places import Places
from service_common.web import callers
from service_common.web.callers import CallerBudgets, Callers
from service_common.web.edge import Edge
from service_common.web.outcomes import note_refusal
from werkzeug.test import Client

from tests.clocks import StandingClock

HOME, CAFE = "203.0.113.7", "198.51.100.1"


def over_budget(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Refuse what is asked below /more, as a used-up budget does."""
    is_refused = environ["PATH_INFO"] == "/more"
    if is_refused:
        note_refusal(environ, ServiceError("rate_limit_reached", "No more."))
    start_response("429 Too Many Requests" if is_refused else "200 OK", [])
    return [b""]


def test_refused_network_waits_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    keeps, ends = Event(), Event()

    def pause(_seconds: float) -> None:
        keeps.set()
        assert ends.wait(30)

    monkeypatch.setattr(callers, "sleep", pause)
    monkeypatch.setattr(callers, "REFUSAL_SECONDS", 0.01)
    client = Client(Edge(over_budget, Callers(Budgets(StandingClock()), CallerBudgets(), 1, at_once=1)))

    def ask(path: str, address: str) -> int:
        return client.get(path, headers={"X-Forwarded-For": address}).status_code

    assert [ask("/", HOME), ask("/", HOME)] == [200, 200]
    with ThreadPoolExecutor(1) as thread:
        refused = thread.submit(ask, "/more", HOME)
        assert keeps.wait(30)
        assert [ask("/", HOME), ask("/", CAFE), ask("/healthz", HOME)] == [503, 200, 200]
        ends.set()
        assert refused.result() == 429
    assert ask("/", HOME) == 200


def test_place_that_is_freed_goes_to_who_waits() -> None:
    held, ends, room = Event(), Event(), Places()

    def hold() -> None:
        with room.hold("kind", 1):
            held.set()
            assert ends.wait(30)

    def wait() -> bool:
        with room.hold("kind", 1, patience=30):
            return True

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(hold)
        assert held.wait(30)
        second = threads.submit(wait)
        while not room._waiting:
            pass
        ends.set()
        assert second.result()
        first.result()


def test_more_than_may_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "MAX_WAITING", 0)
    room = Places()
    with room.hold("kind", 1), pytest.raises(ServiceError, match="at the moment"), room.hold("kind", 1, patience=3_600):
        pass
