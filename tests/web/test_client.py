"""What the pages do when the API is silent, slow, wrong on purpose or out of its mind."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
import urllib3
from bounty_protocol.errors import ServiceError
from bounty_protocol.foreign_json import MOST_VALUES, read_object
from bounty_protocol.timely import AnswerTooLong, HttpAnswer, TimelyHttp
from prometheus_client import REGISTRY
from service_web.api import client as module
from service_web.api.client import ApiAbsent, ApiOverloaded, ApiReader, ApiRefused, ApiUnavailable, Question, reader

from tests.raw_server import raw_server
from tests.web.conftest import VARIABLES, OwnClock, Pages
from tests.web.fake_api import NOW, POSTER, SOLVERS, page_of

QUESTION = Question("/api/deployment")
UP_WITHOUT_API = ("/how-it-works", "/glossary", "/healthz")


@pytest.fixture(autouse=True)
def another_request() -> None:
    """What the API was too busy for before is over."""
    reader.set(None)


class Scripted:
    """A pool of connections that answers with what a list says; an exception is raised."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.headers: list[dict[str, str]] = []
        self.cleared = 0

    def exchange(self, method: str, url: str, **options: Any) -> HttpAnswer:
        self.headers.append(options["headers"])
        found = self.answers.pop(0)
        if isinstance(found, BaseException):
            raise found
        return cast("HttpAnswer", found)

    def clear(self) -> None:
        self.cleared += 1


def answer(status: int = 200, body: bytes = b"{}", **headers: str) -> HttpAnswer:
    return HttpAnswer(status, headers, body)


def client_of(*answers: object, clock: OwnClock | None = None) -> tuple[ApiReader, Scripted]:
    scripted = Scripted(*answers)
    return ApiReader("http://api", clock or OwnClock(), cast("TimelyHttp", scripted)), scripted


def silent(*_: object) -> tuple[int, bytes]:
    raise urllib3.exceptions.ReadTimeoutError(cast("Any", None), "", "silent")


def test_answer__with_an_etag__is_asked_for_again_with_it() -> None:
    client, scripted = client_of(answer(ETag='"a"', body=b'{"x": 1}'), answer(304, b""), answer(body=b'{"x": 2}'))
    first, second, third = (client.ask(QUESTION, read_object).value for _ in range(3))
    assert (first, second, third) == ({"x": 1}, {"x": 1}, {"x": 2})
    assert [each.get("If-None-Match") for each in scripted.headers] == [None, '"a"', '"a"']


def test_answer__kept_for_a_moment__is_not_asked_for_again() -> None:
    client, _ = client_of(answer(body=b'{"x": 1}'), clock=OwnClock(step=0.01))
    assert [client.ask(QUESTION, read_object).value for _ in range(3)] == [{"x": 1}] * 3


@pytest.mark.parametrize(
    ("given", "raised"),
    [
        (answer(404), ApiAbsent),
        (answer(400), ApiRefused),
        (answer(503), ApiUnavailable),
        (answer(503, b'{"error": {"code": "storage_unavailable"}}'), ApiUnavailable),
        (answer(503, b'{"error": "service_overloaded"}'), ApiUnavailable),
        (answer(503, b'{"error": {"code": "service_overloaded"}}'), ApiOverloaded),
        (answer(429, RetryAfter="x"), ServiceError),
        (answer(302, Location="http://inside"), ApiUnavailable),
        (answer(304), ApiUnavailable),
        (answer(body=b"<html>"), ApiUnavailable),
        (answer(body=b"[]"), ApiUnavailable),
        (answer(body=b"[" * 100_000), ApiUnavailable),
        (answer(body=b"\xff"), ApiUnavailable),
        (AnswerTooLong(module.MAX_ANSWER_BYTES), ApiUnavailable),
        (answer(body=b'{"a": [' + b"[]," * MOST_VALUES + b"1]}"), ApiUnavailable),
        (urllib3.exceptions.NewConnectionError(cast("Any", None), "refused"), ApiUnavailable),
        (urllib3.exceptions.ProtocolError("cut"), ApiUnavailable),
        (ConnectionResetError(), ApiUnavailable),
    ],
    ids=str,
)
def test_answer__that_cannot_be_used__has_its_error(given: object, raised: type[Exception]) -> None:
    client, _ = client_of(given, given)
    with pytest.raises(raised):
        client.ask(QUESTION, read_object)


@pytest.mark.parametrize(
    "gone",
    [
        urllib3.exceptions.NewConnectionError(cast("Any", None), "refused"),
        urllib3.exceptions.ProtocolError("the other end is gone"),
    ],
    ids=["new connection", "kept connection"],
)
def test_question__over_a_connection_whose_other_end_is_gone__is_asked_again_over_a_new_one(gone: Exception) -> None:
    client, scripted = client_of(gone, answer(body=b'{"x": 1}'))
    assert (client.ask(QUESTION, read_object).value, scripted.cleared) == ({"x": 1}, 1)


def test_question__that_the_api_is_silent_about__is_not_asked_again() -> None:
    """It may be too much for it, and each reader waits as long once more."""
    client, scripted = client_of(urllib3.exceptions.ReadTimeoutError(cast("Any", None), "", "silent"))
    with pytest.raises(ApiUnavailable):
        client.ask(QUESTION, read_object)
    assert (len(scripted.headers), scripted.cleared) == (1, 0)


@pytest.mark.parametrize("at_once", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"], ids=["head", "body"])
def test_answer__whose_bytes_never_end__is_given_up(monkeypatch: pytest.MonkeyPatch, at_once: bytes) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.5)

    def pieces() -> Iterator[bytes]:
        yield at_once
        yield from itertools.repeat(b"x")

    with raw_server(pieces, pause=0.05) as endless, pytest.raises(ApiUnavailable):
        ApiReader(endless.url, OwnClock()).ask(QUESTION, read_object)
    assert endless.hung_up.wait(10)


def test_failure__is_remembered__so_that_others_do_not_wait_for_the_same() -> None:
    clock = OwnClock(step=0.01)
    client, scripted = client_of(ConnectionResetError(), answer(body=b'{"x": 1}'), clock=clock)
    for path in ("/a", "/b", "/c"):
        with pytest.raises(ApiUnavailable):
            client.ask(Question(path), read_object)
    assert len(scripted.headers) == 1
    clock.ticks += 2
    assert client.ask(Question("/d"), read_object).value == {"x": 1}


def test_failure__of_one_question_while_others_are_answered__is_not_remembered_for_them() -> None:
    clock = OwnClock(step=0.01)
    client, scripted = client_of(clock=clock)

    def slow(*_: object, **__: object) -> None:
        scripted.exchange = answering  # type: ignore[method-assign]
        assert client.ask(Question("/fast"), read_object).value == {"x": 1}
        raise urllib3.exceptions.ReadTimeoutError(cast("Any", None), "", "silent")

    answering, scripted.exchange = scripted.exchange, slow  # type: ignore[method-assign,assignment]
    scripted.answers += [answer(body=b'{"x": 1}'), answer(body=b'{"x": 2}'), answer(body=b'{"x": 3}')]
    for _ in range(3):  # asked once, and remembered for itself
        with pytest.raises(ApiUnavailable):
            client.ask(Question("/slow"), read_object)
    assert client.ask(Question("/other"), read_object).value == {"x": 2}
    clock.ticks += 2
    assert client.ask(Question("/slow"), read_object).value == {"x": 3}


def test_good_answer__of_a_silent_api__is_shown_with_its_age_and_not_for_ever() -> None:
    clock = OwnClock()
    failures = [ConnectionResetError() for _ in range(2)]
    client, _ = client_of(answer(body=b'{"x": 1}'), *failures, clock=clock)
    assert not client.ask(QUESTION, read_object).is_stale
    clock.at += 60
    found = client.ask(QUESTION, read_object)
    assert (found.value, found.is_stale, found.good_at) == ({"x": 1}, True, NOW)
    clock.ticks += 601
    with pytest.raises(ApiUnavailable):
        client.ask(QUESTION, read_object)


def test_good_answer__of_what_is_gone__is_not_shown() -> None:
    client, _ = client_of(answer(body=b'{"x": 1}'), answer(404), ConnectionResetError())
    client.ask(QUESTION, read_object)
    with pytest.raises(ApiAbsent):
        client.ask(QUESTION, read_object)
    with pytest.raises(ApiUnavailable):
        client.ask(QUESTION, read_object)


def test_pages__of_an_api_that_never_answered__say_so_and_stay_up(pages: Pages) -> None:
    pages.api.alter = silent
    for path in ("/", "/bounties/1", "/guardians", "/deployment", "/feed.atom"):
        answered = pages.get(path)
        assert (answered.status_code, answered.headers["Retry-After"]) == (503, "10"), path
        assert "The API does not answer" in answered.get_data(as_text=True)
    for path in UP_WITHOUT_API:
        assert pages.get(path).status_code == 200


def test_pages__of_an_api_that_fell_silent__show_what_was_true_and_when() -> None:
    pages = Pages(clock=OwnClock(step=1.5))
    pages.ledger.add(submitted=[SOLVERS[0]])
    for path in ("/", "/bounties/1", "/guardians"):
        assert "does not answer" not in pages.text(path)
    pages.api.alter = silent
    pages.clock.at += 120
    for path in ("/", "/bounties/1", "/guardians"):
        shown = pages.text(path)
        assert "The API does not answer at the moment" in shown
        assert "What you see was true at 15 January 2027, 08:00:00 UTC" in shown


def test_page__of_which_one_list_is_old__says_so() -> None:
    pages = Pages(clock=OwnClock(step=1.5))
    pages.ledger.add(submitted=[SOLVERS[0]])
    old = "What you see was true at 15 January 2027, 08:00:00 UTC and may have changed since."
    asked = pages.api.exchange

    def exchange(method: str, url: str, **options: Any) -> HttpAnswer:
        if b"lost_since" in (options.get("body") or b""):
            raise ConnectionResetError
        return asked(method, url, **options)

    assert old not in pages.text(f"/people/{SOLVERS[0]}")
    pages.api.exchange = exchange  # type: ignore[method-assign]
    pages.clock.at += 120
    assert old in pages.text(f"/people/{SOLVERS[0]}")


MALFORMED: dict[str, Callable[[bytes], bytes]] = {
    "no json": lambda _: b"<html>",
    "null": lambda _: b"null",
    "a list": lambda _: b"[]",
    "an empty object": lambda _: b"{}",
    "numbers as text": lambda body: body.replace(b": 5000", b': "5000"'),
    "text as numbers": lambda body: body.replace(b'"25000000"', b"25000000"),
    "an amount below zero": lambda body: body.replace(b'"25000000"', b'"-1"'),
    "truth as a number": lambda body: body.replace(b'"quorum": 2', b'"quorum": true'),
    "an unknown status": lambda body: body.replace(b'"open"', b'"opened"'),
    "addresses that are none": lambda body: body.replace(b'"0x', b'"0y'),
}


@pytest.mark.parametrize("how", MALFORMED)
def test_pages__of_an_api_out_of_its_mind__show_nothing_wrong(pages: Pages, how: str) -> None:
    pages.ledger.add(submitted=[SOLVERS[0]])
    pages.api.alter = lambda _path, status, body: (status, MALFORMED[how](body))
    statuses = {pages.get(path).status_code for path in ("/", "/bounties/1", "/guardians", "/feed.atom")}
    assert 503 in statuses
    assert statuses <= {200, 503}
    for path in UP_WITHOUT_API:
        assert pages.get(path).status_code == 200


def test_answer__with_keys_of_a_later_release__is_read(pages: Pages) -> None:
    pages.ledger.add()
    pages.api.alter = lambda _path, status, body: (
        status,
        body.replace(b'"facts": {', b'"facts": {"title": {"a": []}, '),
    )
    assert pages.get("/bounties/1").status_code == 200
    assert pages.get("/").status_code == 200


def behind_a_proxy() -> Pages:
    return Pages(variables=VARIABLES | {"SERVICE_FORWARDED_HOPS": "1"})


@pytest.mark.attack
@pytest.mark.parametrize("path", ["/?show=all", "/feed.atom", f"/people/{SOLVERS[0]}/feed.atom"])
def test_questions_of_a_page_count_for_its_reader(path: str) -> None:
    pages = behind_a_proxy()
    pages.ledger.add(page=page_of())
    assert pages.get(path, **{"X-Forwarded-For": "6.6.6.6, 203.0.113.7"}).status_code == 200
    assert set(pages.api.readers) == {"203.0.113.7"}
    pages.api.readers.clear()
    assert pages.get(path).status_code == 200  # from inside the deployment
    assert set(pages.api.readers) == {None}
    direct = Pages()
    assert direct.get("/?show=all", **{"X-Forwarded-For": "203.0.113.7"}).status_code == 200
    assert set(direct.api.readers) == {None}  # nobody of ours wrote it


class Refusing:
    """An API that refuses one reader, and answers all others."""

    def __init__(self, pages: Pages, status: int, code: str, reader: str) -> None:
        self._asked, self._reader = pages.api.exchange, reader
        self._refusal = answer(status, json.dumps({"error": {"code": code}}).encode(), **{"Retry-After": "17"})
        pages.api.exchange = self  # type: ignore[method-assign]

    def __call__(self, method: str, url: str, **options: Any) -> HttpAnswer:
        is_refused = options["headers"].get("X-Forwarded-For") == self._reader
        return self._refusal if is_refused else self._asked(method, url, **options)


ONE, OTHER = {"X-Forwarded-For": "203.0.113.7"}, {"X-Forwarded-For": "198.51.100.1"}
_PATHS = ("/?show=all", "/bounties/1", "/feed.atom")


def pages_of_two_readers() -> Pages:
    """Each page was answered a while ago."""
    pages = behind_a_proxy()
    pages.ledger.add(submitted=[SOLVERS[0]])
    pages.clock.step = 0.001  # nothing is asked for twice, and each page is kept
    for path in _PATHS:
        assert pages.get(path, **OTHER).status_code == 200
    pages.clock.ticks += 5
    return pages


def failed() -> float | None:
    return REGISTRY.get_sample_value("service_http_outcomes_total", {"result": "failed"})


@pytest.mark.attack
def test_reader_whose_budget_at_the_api_is_used_up_is_told_so_and_nobody_else() -> None:
    pages, before = pages_of_two_readers(), failed()
    Refusing(pages, 429, "rate_limit_reached", ONE["X-Forwarded-For"])
    for path in _PATHS:
        refused, shown = pages.get(path, **ONE), pages.get(path, **OTHER)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "17")
        assert "Too many requests" in refused.get_data(as_text=True)
        assert (shown.status_code, "does not answer" in shown.get_data(as_text=True)) == (200, False)
    assert failed() == before  # nobody is woken by one reader


@pytest.mark.attack
def test_reader_for_whom_the_api_is_too_busy_is_shown_the_last_good_answer_and_nobody_else_is() -> None:
    pages, before = pages_of_two_readers(), failed()
    Refusing(pages, 503, "service_overloaded", ONE["X-Forwarded-For"])
    for path in ("/?show=all", "/bounties/1", "/deployment"):
        older, shown = (pages.get(path, **each).get_data(as_text=True) for each in (ONE, OTHER))
        assert ("Too busy" in older, "Too busy" in shown) == (True, False)
        assert "The API does not answer" not in older
        assert path == "/deployment" or "A fast parser" in older
    feed = pages.get("/feed.atom", **ONE)  # whoever reads it keeps it, and cannot be told
    assert (feed.status_code, feed.headers["Retry-After"]) == (503, "17")
    pages.ledger.add()
    refused = pages.get("/bounties/2", **ONE)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "17")
    assert "Too busy at the moment" in refused.get_data(as_text=True)
    assert failed() == before  # the API counts it


@pytest.mark.attack
@pytest.mark.parametrize(
    ("asked_before", "said"),
    [([], "Parts of this page may be lacking."), (["/guardians"], "08:00:00 UTC, and parts may be lacking.")],
)
def test_titles__that_the_api_was_too_busy_to_give_one_reader__are_given_to_others(
    asked_before: list[str], said: str
) -> None:
    pages = behind_a_proxy()
    pages.ledger.add()
    pages.clock.step = 0.001
    for path in asked_before:
        pages.get(path, **OTHER)
    pages.clock.ticks += 5
    asked = pages.api.exchange

    def exchange(method: str, url: str, **options: Any) -> HttpAnswer:
        if "/api/bounties/" in url and options["headers"].get("X-Forwarded-For") == ONE["X-Forwarded-For"]:
            return answer(503, b'{"error": {"code": "service_overloaded"}}')
        return asked(method, url, **options)

    pages.api.exchange = exchange  # type: ignore[method-assign]
    person = f"/people/{POSTER}"
    assert pages.get(f"{person}/feed.atom", **ONE).status_code == 503
    refused, shown = (pages.get(person, **each) for each in (ONE, OTHER))
    texts = [each.get_data(as_text=True) for each in (refused, shown)]
    assert [("A fast parser" in each, said in each) for each in texts] == [(False, True), (True, False)]
    assert (refused.headers["Cache-Control"], shown.headers["Cache-Control"]) == ("private, no-store", "no-cache")


def test_page_of_an_api_that_is_too_busy_for_a_part_of_it_has_all_the_others() -> None:
    pages = behind_a_proxy()
    pages.ledger.add()
    asked, questions = pages.api.exchange, list[str]()

    def exchange(method: str, url: str, **options: Any) -> HttpAnswer:
        questions.append(method)
        if method == "POST":  # how far the index is
            return answer(503, b'{"error": {"code": "service_overloaded"}}')
        return asked(method, url, **options)

    pages.api.exchange = exchange  # type: ignore[method-assign]
    assert pages.get("/?show=all", **ONE).status_code == 200
    assert questions[-1] == "POST"  # it is not asked for the next part, only to wait once more
