"""A network that sends too much waits, and nobody else does."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from wsgiref.types import StartResponse, WSGIEnvironment

import pytest
from bounty_protocol.errors import ServiceError
from service_common import places
from service_common.budgets import Budgets
from service_common.places import Places
from service_common.web import callers
from service_common.web.callers import CallerBudgets, Callers
from service_common.web.edge import Edge
from service_common.web.error_budget import note_refusal
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
        monkeypatch.setattr(callers, "MAX_KEPT", 1)
        assert ask("/more", CAFE) == 429  # at once: the one refusal that keeps its place is the other network's
        ends.set()
        assert refused.result() == 429
    assert ask("/", HOME) == 200


def test_place_that_is_freed_goes_to_who_waits() -> None:
    held, ends, took, room = Event(), Event(), Event(), Places()

    def hold() -> None:
        with room.hold("kind", 1):
            held.set()
            assert ends.wait(30)

    def wait() -> None:
        with room.hold("kind", 1, patience=3_600):
            took.set()

    for each in (hold, wait):
        Thread(target=each, daemon=True).start()
        assert held.wait(30)
    while not room._waiting:
        pass
    ends.set()
    assert took.wait(30)  # an hour before its patience ends


@pytest.mark.parametrize("bound", ["MAX_WAITING", "MAX_WAITING_OF_ONE"])
def test_more_than_may_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(places, bound, 0)
    room = Places()
    with room.hold("kind", 1), pytest.raises(ServiceError, match="at the moment"), room.hold("kind", 1, patience=3_600):
        pass
