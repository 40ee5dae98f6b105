"""Requests to the deployment that is looked at, and what every answer has to be.

Nothing here is believed: an answer is bounded in time and bytes, read as the shape that is specified for it, and
refused with a sentence that says what it should have been.
"""

import json
import time
from collections.abc import Mapping
from typing import Final, TypeVar
from urllib.parse import urlencode

import urllib3
from bounty_protocol.errors import PROBLEMS
from bounty_protocol.foreign_json import read_object
from bounty_protocol.timely import HttpAnswer, TimelyHttp
from bounty_protocol.wire.reading import read

from service_cli.shell.text import printable

T = TypeVar("T")
ANSWER_SECONDS: Final = 20.0
MOST_BYTES: Final = 16 * 1024 * 1024
PATIENCE_SECONDS: Final = 60.0
"""For how long in all it is waited where the deployment asks for that (429 and 503 with Retry-After)."""
MOST_SHOWN: Final = 200


class Broken(Exception):
    """A requirement is not met; the text says what was seen and what should have been."""


class NotChecked(Exception):
    """A requirement could not be looked at; the text says what is missing."""


class ExaminedApi:
    """One deployment's API, asked from outside."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url
        self.requests = 0
        self._patience = PATIENCE_SECONDS
        timeout = urllib3.Timeout(connect=10.0, read=ANSWER_SECONDS)
        self._http = TimelyHttp(ANSWER_SECONDS, timeout=timeout)

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | str = "",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpAnswer:
        """The answer, whatever it says; asked for again where the deployment says when, as long as patience lasts."""
        text = query if isinstance(query, str) else urlencode(query)
        url = self.base_url + path + (f"?{text}" if text else "")
        while True:
            self.requests += 1
            try:
                answer = self._http.exchange(method, url, most_bytes=MOST_BYTES, body=body, headers=headers)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise Broken(f"{method} {path} is not answered: {shown(type(error).__name__)}") from None
            wait = max(1, answer.retry_after or 0)  # 0 is no reason to ask without end
            if answer.status not in {429, 503} or answer.retry_after is None or wait > self._patience:
                _check_every(answer, method, path)
                return answer
            self._patience -= wait
            time.sleep(wait)

    def read(self, path: str, shape: type[T], *, query: Mapping[str, str] | str = "") -> T:
        """A public read that has to be answered with this shape."""
        return as_shape(shape, expect(self.send("GET", path, query=query), 200, f"GET {path}"), f"GET {path}")

    def refused(
        self,
        method: str,
        path: str,
        code: str,
        *,
        query: Mapping[str, str] | str = "",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpAnswer:
        """A request that has to be refused with this code, and the status that belongs to it."""
        answer = self.send(method, path, query=query, body=body, headers=headers)
        check_refusal(answer, code, f"{method} {path}" + (f"?{query}" if query else ""))
        return answer


def check_refusal(answer: HttpAnswer, code: str, what: str) -> None:
    """Raise ``Broken`` unless an answer is this refusal."""
    found = code_of(answer)
    expected = f"{PROBLEMS[code].status} {code}"
    if (answer.status, found) != (PROBLEMS[code].status, code):
        raise Broken(f"{what} is answered {answer.status} {shown(found)}; it has to be {expected}")


def expect(answer: HttpAnswer, status: int, what: str) -> HttpAnswer:
    """The answer, where it has this status."""
    if answer.status != status:
        raise Broken(f"{what} is answered {answer.status} {shown(code_of(answer))}; it has to be {status}")
    return answer


def as_shape(shape: type[T], answer: HttpAnswer, what: str) -> T:
    """An answer's body, read as the interface defines it."""
    media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Broken(f"{what} has the media type {shown(media_type)}; it has to be application/json")
    try:
        return read(shape, read_object(answer.body))
    except ValueError as error:
        raise Broken(f"{what} is not of the shape {shape.__name__}: {shown(str(error))}") from None


def json_of(answer: HttpAnswer) -> object:
    """The body as JSON; None where it is none."""
    try:
        return read_object(answer.body)
    except ValueError:
        return None


def code_of(answer: HttpAnswer) -> str:
    """The code of a refusal, of the API or of GraphQL; a description where there is none."""
    match json_of(answer):
        case {"error": {"code": str(code)}} | {"errors": [{"extensions": {"code": str(code)}}, *_]}:
            return code
        case _:
            return "without a code"


def shown(text: str) -> str:
    """What the deployment wrote, without control characters and bounded."""
    return printable(text, MOST_SHOWN)


def as_json(value: object) -> bytes:
    """A body."""
    return json.dumps(value).encode()


def _check_every(answer: HttpAnswer, method: str, path: str) -> None:
    """What each answer has to have, whatever was asked."""
    if not answer.headers.get("X-Correlation-Id"):
        raise Broken(f"{method} {path} is answered without X-Correlation-Id")
    if answer.status in {429, 503} and answer.retry_after is None:
        raise Broken(f"{method} {path} is answered {answer.status} without Retry-After")
    if answer.status < 400:
        return
    code = code_of(answer)
    problem = PROBLEMS.get(code)
    if problem is None:
        raise Broken(f"{method} {path} is answered {answer.status} {shown(code)}, which is no code of the interface")
    if problem.status != answer.status:
        raise Broken(f"{method} {path} is answered {answer.status} {code}, whose status is {problem.status}")
