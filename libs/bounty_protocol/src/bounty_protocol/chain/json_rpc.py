"""A small JSON-RPC client over several endpoints.

A call is tried on each endpoint in turn, in the order of ``endpoints``. An endpoint's address, which may hold a secret,
never appears in an error or a log. Answers that take longer than ``answer_seconds`` in all, that are longer than their
method's may be or not of its shape (``chain/rpc_answers.py``), and answers that are not JSON-RPC count as none. So do
refusals by a rate limit, with status 429 or with an error: where no endpoint does better, a client that is patient
sends the request again after ``LIMIT_WAITS``. ``ChainUnavailable`` is raised when no endpoint answers
(``AnswerTooLarge`` where one answered too much: less may be requested), and ``RpcRefused`` when one answers with an
error of its own (a revert, a method it does not have).
"""

import json
import re
import time
from collections.abc import Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import urllib3

from bounty_protocol.chain.endpoints import Endpoint, Endpoints
from bounty_protocol.timely import AnswerRefused, AnswerTooLong, HttpAnswer, TimelyHttp
from bounty_protocol.types import Address, BlockNumber, Bytes32, UnixSeconds, parse_address, parse_bytes32

if TYPE_CHECKING:  # loaded with the first client: much that imports this reads no chain
    from bounty_protocol.chain.rpc_answers import Expected, RpcEnvelope

TIMEOUT: Final = urllib3.Timeout(connect=3.0, read=15.0)
"""For connecting, and for each wait until something more comes."""
ANSWER_SECONDS: Final = 60.0

LIMIT_WAITS: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds before what was refused by a rate limit is sent again; an endpoint may wish for up to the last of them."""
PATIENCE_SECONDS: Final = 15.0
"""For how long it is sent again at most, also to an endpoint that takes its time to refuse."""
_LIMIT: Final = re.compile(
    r"rate.?limit|too many requests?|request (?:rate|limit|count)|per second|/sec|\brps\b|compute units|credits|quota",
    re.IGNORECASE,
)

_TOO_OFTEN: Final = 429
_NOT_NOW: Final = frozenset({_TOO_OFTEN, 502, 503, 504})
"""Statuses of an endpoint that is limited or down: the next one is tried, as for one that redirects."""

_SILENT: Final = (
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.SSLError,
    urllib3.exceptions.TimeoutError,
)

_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")

Call = tuple[str, list[object]]


class ChainUnavailable(Exception):
    """No endpoint gave a usable answer.

    ``host`` and ``cause`` are of the last one queried, where it is known: never a path or a credential of its address.
    They are no part of the text, which services log. ``limited``: it answered that it was queried too often, by the
    error ``refusal`` where it was one, and ``retry_after`` is in how many seconds it wants to be queried again, where
    it said so. ``silent``: it was not reached, or nothing came in time.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        host: str | None = None,
        cause: str | None = None,
        limited: bool = False,
        retry_after: int | None = None,
        silent: bool = False,
        refusal: "RpcRefused | None" = None,
    ) -> None:
        super().__init__(problem)
        self.host = host
        self.cause = cause
        self.limited = limited
        self.retry_after = retry_after
        self.silent = silent
        self.refusal = refusal

    @property
    def try_again(self) -> str:
        """When, of an endpoint that was queried too often."""
        return "in a minute" if self.retry_after is None else f"in {max(1, self.retry_after):,} seconds"

    def bare(self) -> "ChainUnavailable":
        """The same without a traceback, whose frames hold what the endpoint answered: to be kept while others are
        queried."""
        return self.restated(type(self), str(self))

    def restated(self, kind: "type[ChainUnavailable]", problem: str) -> "ChainUnavailable":
        """The same of another kind, in other words."""
        return kind(
            problem,
            host=self.host,
            cause=self.cause,
            limited=self.limited,
            retry_after=self.retry_after,
            silent=self.silent,
            refusal=self.refusal,
        )


class AnswerTooLarge(ChainUnavailable):
    """No endpoint gave a usable answer, and at least one of them gave one that is longer than it may be."""


class RpcRefused(Exception):
    """An endpoint answered with an error. ``data`` is revert data where there is any."""

    def __init__(self, code: int, message: str, data: bytes = b"") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def is_revert(self) -> bool:
        """Whether the contract refused, and not the endpoint."""
        return bool(self.data) or "revert" in self.message.lower()

    @property
    def is_limit(self) -> bool:
        """Whether the endpoint was queried too often: many answer so with status 200, each by a code of its own."""
        if self.is_revert:  # whose words are the contract's
            return False
        return self.code == _TOO_OFTEN or _LIMIT.search(self.message[:1_000]) is not None


class JsonRpc:
    """JSON-RPC over HTTP. Thread-safe.

    ``max_answer_bytes`` lowers what an answer may have. For an endpoint that is ``own``, a process that the caller
    runs, it is the only bound, and answers may be of any shape. A client that is ``patient`` sends what was refused by
    a rate limit again, for some seconds: for a person's command or a job, and for nothing that others wait for.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        timeout: urllib3.Timeout = TIMEOUT,
        answer_seconds: float = ANSWER_SECONDS,
        max_answer_bytes: int | None = None,
        own: bool = False,
        patient: bool = False,
    ) -> None:
        # A worker forks while a thread checks its health: an import that began there with the first answer would
        # never end in the fork.
        import bounty_protocol.chain.rpc_answers  # noqa: F401

        self.endpoints = Endpoints(urls)
        self._max_answer_bytes, self._own = max_answer_bytes, own
        self._limit_waits = LIMIT_WAITS if patient else ()
        self._http = TimelyHttp(answer_seconds, maxsize=16, timeout=timeout)

    def bounded(self, *, seconds: float, max_answer_bytes: int | None = None, patient: bool = False) -> "JsonRpc":
        """A client of the same endpoints that waits and reads less: what waits on it is a person's request, or has a
        time of its own."""
        timeout = urllib3.Timeout(connect=min(1.0, seconds), read=seconds)
        urls = [each.url for each in self.endpoints.all]
        return JsonRpc(
            urls, timeout=timeout, answer_seconds=seconds, max_answer_bytes=max_answer_bytes, patient=patient
        )

    def call(self, method: str, *params: object) -> object:
        """One call; its ``result``."""
        answer = self.batch([(method, list(params))])[0]
        if isinstance(answer, RpcRefused):
            raise answer
        return answer

    def answer(self, call: Call) -> object:
        """The ``result`` of a call that is also read by a request of several."""
        method, params = call
        return self.call(method, *params)

    def batch(self, calls: Sequence[Call]) -> list[object]:
        """Several calls in one request; each answer is its ``result`` or the ``RpcRefused`` it met."""
        return self._first_answer(calls, self._limit_waits)

    def attempt(self, calls: Sequence[Call]) -> list[object]:
        """The same, without a wait where requests are limited: the caller has another way."""
        return self._first_answer(calls, ())

    def of_each(self, calls: Sequence[Call], *, least: int = 1) -> list[list[object]]:
        """What each endpoint answers to these calls, as ``batch`` has it, asked side by side. One that gives no usable
        answer is left out, and rests; those that rest are asked only to have ``least``."""
        from concurrent.futures import ThreadPoolExecutor  # a command of the client starts without it

        endpoints = self.endpoints.awake(least)
        with ThreadPoolExecutor(len(endpoints)) as pool:
            # Each in a copy of the caller's context: what is logged there belongs to the caller.
            asked = [pool.submit(copy_context().run, self._attempt_of, each, calls) for each in endpoints]
            return [answers for each in asked if (answers := each.result()) is not None]

    def _attempt_of(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object] | None:
        try:
            answers = self.ask(endpoint, calls)
        except ChainUnavailable:
            self.endpoints.failed(endpoint)
            return None
        self.endpoints.succeeded(endpoint, prefer=False)
        return answers

    def _first_answer(self, calls: Sequence[Call], limit_waits: Sequence[float]) -> list[object]:
        """The answer of the first endpoint that gives one. Those that were queried too often are queried again."""
        asked, failures = self.endpoints.in_order(), dict[int, ChainUnavailable]()
        ends = time.monotonic() + PATIENCE_SECONDS
        for wait in (*limit_waits, None):
            for endpoint in asked:
                try:
                    answers = self.ask(endpoint, calls)
                except ChainUnavailable as error:
                    if endpoint.place not in failures:
                        self.endpoints.failed(endpoint)
                    failures[endpoint.place] = error.bare()
                    continue
                self.endpoints.succeeded(endpoint, prefer=True)
                return answers
            wishes = {each.place: _wished(failures[each.place], wait, max(limit_waits, default=0)) for each in asked}
            asked = [each for each in asked if wishes[each.place] is not None]
            pause = min((wish for wish in wishes.values() if wish is not None), default=None)
            if pause is None or time.monotonic() + pause > ends:
                break
            time.sleep(pause)
        raise self._unavailable(list(failures.values()))

    def _unavailable(self, failures: Sequence[ChainUnavailable]) -> ChainUnavailable:
        """What is raised where each endpoint failed; where one may answer later, it says when."""
        kind = AnswerTooLarge if any(isinstance(each, AnswerTooLarge) for each in failures) else ChainUnavailable
        told = next((each for each in failures if each.limited), failures[-1])
        problem = f"none of {len(self.endpoints.all)} RPC endpoints gave a usable answer"
        if told.limited:
            problem += f": requests are limited, try again {told.try_again}"
        return told.restated(kind, problem)

    def ask(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        """The same of one endpoint, once; what becomes of one that fails is left to the caller."""
        problem, host = f"RPC endpoint {endpoint.place} gave no usable answer", host_of(endpoint.url)
        try:
            answers = self._send(endpoint.url, calls)
        except (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            cause = unreachable(error) if isinstance(error, urllib3.exceptions.HTTPError) else str(error)
            known = cause if isinstance(error, urllib3.exceptions.HTTPError | _Unusable) else "no JSON-RPC answer"
            kind = AnswerTooLarge if isinstance(error, AnswerTooLong) else ChainUnavailable
            limited, retry_after = (error.limited, error.retry_after) if isinstance(error, _Unusable) else (False, None)
            silent = isinstance(error, _SILENT)
        else:
            limit = next((each for each in answers if isinstance(each, RpcRefused) and each.is_limit), None)
            if limit is None:
                return answers
            raise ChainUnavailable(
                problem, host=host, cause=f"error {limit.code}: {limit.message[:200]}", limited=True, refusal=limit
            )
        # Raised here, for those errors name the address, and their frames hold the answer.
        raise kind(problem, host=host, cause=known, limited=limited, retry_after=retry_after, silent=silent)

    def distrust(self) -> None:
        """The caller cannot use the last answer: query another endpoint first."""
        self.endpoints.distrusted()

    def _send(self, url: str, calls: Sequence[Call]) -> list[object]:
        from bounty_protocol.chain.rpc_answers import read_envelopes

        requests = [
            {"jsonrpc": "2.0", "id": i, "method": method, "params": params} for i, (method, params) in enumerate(calls)
        ]
        body = json.dumps(requests if len(requests) > 1 else requests[0]).encode()
        wanted = [self._expected(method, params) for method, params in calls]
        headers = {"Content-Type": "application/json"}
        answer = self._http.exchange("POST", url, most_bytes=self._most_bytes(wanted), body=body, headers=headers)
        if answer.status in _NOT_NOW or 300 <= answer.status < 400:
            raise _Unusable(f"status {answer.status}", answer)
        try:
            by_id = {each.id: each for each in read_envelopes(answer.body, len(calls))}
            return [_result(by_id[i], each) for i, each in enumerate(wanted)]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise _Unusable(f"status {answer.status} without a JSON-RPC answer") from None

    def _expected(self, method: str, params: Sequence[object]) -> "Expected":
        from bounty_protocol.chain.rpc_answers import Expected, expected

        return Expected(self._max_answer_bytes or 0) if self._own else expected(method, params)

    def _most_bytes(self, wanted: "Sequence[Expected]") -> int:
        """Of one answer to all of these calls."""
        from bounty_protocol.chain.rpc_answers import MOST_BYTES

        together = sum(each.most_bytes for each in wanted)
        if self._own:
            return together
        return min(together, MOST_BYTES, MOST_BYTES if self._max_answer_bytes is None else self._max_answer_bytes)


class _Unusable(ValueError):
    """Why an answer is none; the text names nothing of the address."""

    def __init__(self, why: str, answer: HttpAnswer | None = None) -> None:
        super().__init__(why)
        self.retry_after = None if answer is None else answer.retry_after
        self.limited = answer is not None and (answer.status == _TOO_OFTEN or self.retry_after is not None)


def _wished(failure: ChainUnavailable, wait: float | None, longest: float) -> float | None:
    """After how many seconds an endpoint is queried again; None where it is not: it did not answer for another reason,
    or wants to be left alone for longer."""
    if wait is None or not failure.limited:
        return None
    wished = failure.retry_after or wait
    return wished if wished <= longest else None


def host_of(url: str) -> str:
    """Host and port of an address, without what may be a secret in it."""
    parts = urlsplit(url)
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return f"{parts.hostname or ''}{port}"


def unreachable(error: urllib3.exceptions.HTTPError) -> str:
    """Why no answer came, in text that names no address."""
    match error:
        case AnswerRefused():
            return str(error)
        case urllib3.exceptions.NameResolutionError():
            return "its name is not known here"
        case urllib3.exceptions.NewConnectionError():
            return "no connection"
        case urllib3.exceptions.SSLError():
            return "its certificate is not accepted"
        case urllib3.exceptions.ConnectTimeoutError() | urllib3.exceptions.ReadTimeoutError():
            return "nothing came in time"
        case _:
            return "the connection broke"


def _result(answer: "RpcEnvelope", wanted: "Expected") -> object:
    from bounty_protocol.chain.rpc_answers import read_error, read_result

    error = read_error(answer)
    if error is None:
        return read_result(answer, wanted)
    if not isinstance(error, dict):
        raise ValueError("malformed error")
    data = error.get("data")
    try:
        revert = hex_bytes(data) if isinstance(data, str) else b""
    except ValueError:
        revert = b""
    return RpcRefused(int(error.get("code", 0)), str(error.get("message", "")), revert)


_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999, the last that calendars hold."""


def quantity(value: object, most: int = 2**256 - 1) -> int:
    """A JSON-RPC quantity, such as ``0x1b4``: digits only, at most those of a word, and at most ``most``.

    What no chain has (a negative number, one of a thousand digits, a gas limit above that of any block) is a malformed
    answer of the endpoint, and no number that somebody goes on to reckon with.
    """
    if not isinstance(value, str) or _QUANTITY.fullmatch(value) is None or (found := int(value, 16)) > most:
        raise ChainUnavailable("an RPC endpoint answered a malformed quantity")
    return found


def block_number(value: object) -> BlockNumber:
    """The number of a block."""
    return BlockNumber(quantity(value, 2**63 - 1))


def block_time(value: object) -> UnixSeconds:
    """The time of a block, which some calendar has."""
    return UnixSeconds(quantity(value, _LAST_SECOND))


def hex_bytes(value: object) -> bytes:
    """A JSON-RPC byte string, such as ``0xdeadbeef``."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError("not a byte string")
    return bytes.fromhex(value[2:])


def hash_of(value: object) -> Bytes32:
    """A 32-byte value in an answer."""
    try:
        return parse_bytes32(value if isinstance(value, str) else "")
    except ValueError as error:
        raise ChainUnavailable("an RPC endpoint answered a malformed hash") from error


def account_of(value: object) -> Address:
    """An account in an answer."""
    try:
        return parse_address(value.lower() if isinstance(value, str) else "")
    except ValueError as error:
        raise ChainUnavailable("an RPC endpoint answered a malformed account") from error


def mapping(value: object) -> dict[str, object]:
    """An object in an answer; ``null`` and everything else is a broken answer."""
    if not isinstance(value, dict):
        raise ChainUnavailable("an RPC endpoint answered null or no object where there should be one")
    return value
