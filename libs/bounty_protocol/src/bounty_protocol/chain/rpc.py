"""JSON-RPC over several endpoints: the one layer that sends, splits, retries, bounds, and compares.

The batch is the primitive, and a call is a batch of one. A batch that an endpoint refuses is split, and the endpoint
gets shorter ones from then on. Endpoints are tried in the order of ``chain/endpoints.py`` (``Rpc.batch``), asked for
the same answer (``Rpc.agreed``), or asked all (``Rpc.of_each``). An endpoint's address, which may hold a secret, never
appears in an error or a log.

Answers that take longer than ``answer_seconds`` in all, that are longer than their method's may be or not of its shape
(``chain/rpc_answers.py``), and answers that are not JSON-RPC count as none. So do refusals by a rate limit, with status
429 or with an error: where no endpoint does better, a client that is patient sends the request again after
``LIMIT_WAITS``, and after the first ``MOST_HICCUPS`` of them if the endpoint, or the proxy or CDN before it, was only
down for a moment; a transaction that is sent again is the same bytes. ``ChainUnavailable`` is raised when no endpoint
answers (``AnswerTooLarge`` where one answered too much: less may be requested), and ``RpcRefused`` when one answers
with an error of its own (a revert, a method it does not have).
"""

import json
import logging
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

import urllib3

from bounty_protocol.chain.endpoints import Endpoint, Endpoints
from bounty_protocol.timely import AnswerRefused, AnswerTooLong, HttpAnswer, TimelyHttp, is_cut, may_pass
from bounty_protocol.types import Address, BlockNumber, Bytes32, UnixSeconds, parse_address, parse_bytes32

if TYPE_CHECKING:  # loaded with the first client: much that imports this reads no chain
    from bounty_protocol.chain.rpc_answers import Expected, RpcEnvelope

TIMEOUT: Final = urllib3.Timeout(connect=3.0, read=15.0)
"""Seconds for connecting, and for each wait for more bytes."""
ANSWER_SECONDS: Final = 60.0

LIMIT_WAITS: Final = (0.5, 1.0, 2.0, 4.0)
"""Seconds before what was refused by a rate limit is sent again; an endpoint may wish for up to the last of them."""
MOST_HICCUPS: Final = 2
"""How often a request is sent again that met a status which may pass, or a broken connection: a gateway also answers so
to a range that takes too long, and a shorter one helps then."""
PATIENCE_SECONDS: Final = 15.0
"""The longest that it is sent again, also to an endpoint that takes its time to refuse."""
_LIMIT: Final = re.compile(
    r"rate.?limit|too many requests?|request (?:rate|limit|count)|per second|/sec|\brps\b|compute units|credits|quota",
    re.IGNORECASE,
)

_TOO_OFTEN: Final = 429

_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")

Call = tuple[str, list[object]]
T = TypeVar("T")

log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())  # a client without a log shows nothing


class ChainUnavailable(Exception):
    """No endpoint gave a usable answer.

    ``host`` and ``cause`` are of the last one queried, where it is known: never a path or a credential of its address.
    They are no part of the text, which services log. ``limited``: it answered that it was queried too often, by the
    error ``refusal`` where it was one, and ``retry_after`` is in how many seconds it wants to be queried again, where
    it said so. ``passing``: it was down for a moment, or the connection broke. ``silent``: nothing came in time.
    """

    def __init__(
        self,
        problem: str = "",
        *,
        host: str | None = None,
        cause: str | None = None,
        limited: bool = False,
        retry_after: int | None = None,
        passing: bool = False,
        silent: bool = False,
        refusal: "RpcRefused | None" = None,
    ) -> None:
        super().__init__(problem)
        self.host = host
        self.cause = cause
        self.limited = limited
        self.retry_after = retry_after
        self.passing = passing
        self.silent = silent
        self.refusal = refusal

    @property
    def try_again(self) -> str:
        """When to retry an endpoint that was queried too often."""
        return "in a minute" if self.retry_after is None else f"in {max(1, self.retry_after):,} seconds"

    def bare(self) -> "ChainUnavailable":
        """Return the same error without its traceback, whose frames hold the endpoint's answer."""
        return self.restated(type(self), str(self))

    def restated(self, kind: "type[ChainUnavailable]", problem: str) -> "ChainUnavailable":
        """Return the same error as another class, with another message."""
        return kind(
            problem,
            host=self.host,
            cause=self.cause,
            limited=self.limited,
            retry_after=self.retry_after,
            passing=self.passing,
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
        """Whether the contract refused, not the endpoint."""
        return bool(self.data) or "revert" in self.message.lower()

    @property
    def is_limit(self) -> bool:
        """Whether the endpoint was queried too often: many say so with status 200, each with its own code."""
        if self.is_revert:  # whose words are the contract's
            return False
        return self.code == _TOO_OFTEN or _LIMIT.search(self.message[:1_000]) is not None


class ChainNode(ABC):
    """What answers calls: one endpoint, or several as one."""

    @abstractmethod
    def batch(self, calls: Sequence[Call]) -> list[object]:
        """Send several calls; each answer is its ``result`` or the ``RpcRefused`` it met."""

    def call(self, method: str, *params: object) -> object:
        """Send one call; return its ``result``."""
        answer = self.batch([(method, list(params))])[0]
        if isinstance(answer, RpcRefused):
            raise answer
        return answer

    def answer(self, call: Call) -> object:
        """Return the ``result`` of a call that could also be part of a batch."""
        method, params = call
        return self.call(method, *params)


@dataclass(frozen=True, slots=True)
class Answers(ChainNode):
    """What one request brought, for reads one by one."""

    by_call: dict[str, object]

    @staticmethod
    def of(rpc: ChainNode, calls: Sequence[Call]) -> "Answers":
        """Send these calls, each once; return their answers."""
        each = list({json.dumps(call): call for call in calls}.values())
        return Answers.among(each, rpc.batch(each))

    @staticmethod
    def among(calls: Sequence[Call], answers: Sequence[object]) -> "Answers":
        """Return the first answers of a request, which began with these calls."""
        return Answers(dict(zip(map(json.dumps, calls), answers, strict=False)))

    def batch(self, calls: Sequence[Call]) -> list[object]:
        return [self.by_call[json.dumps(call)] for call in calls]


@dataclass(frozen=True, slots=True)
class OneEndpoint(ChainNode):
    """One endpoint of several, queried alone; ``ChainUnavailable`` where it gives no usable answer."""

    endpoint: Endpoint
    send: Callable[[Sequence[Call]], list[object]]
    waits: Sequence[float]
    """Seconds before what it does not answer yet is sent again; none if the client is not patient."""

    @property
    def place(self) -> int:
        """Its place in the configuration, from 1."""
        return self.endpoint.place

    def batch(self, calls: Sequence[Call]) -> list[object]:
        return self.send(calls)


class Rpc(ChainNode):
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
        # A server forks while a thread checks its health: an import that began there with the first answer would
        # never end in the fork.
        import bounty_protocol.chain.rpc_answers  # noqa: F401

        self.endpoints = Endpoints(urls)
        self._max_answer_bytes, self._own = max_answer_bytes, own
        self._limit_waits = LIMIT_WAITS if patient else ()
        self._http = TimelyHttp(answer_seconds, maxsize=16, timeout=timeout)

    def bounded(self, *, seconds: float, max_answer_bytes: int | None = None, patient: bool = False) -> "Rpc":
        """Return a client of the same endpoints with shorter waits and smaller answers, for a caller with a
        deadline.
        """
        timeout = urllib3.Timeout(connect=min(1.0, seconds), read=seconds)
        urls = [each.url for each in self.endpoints.all]
        return Rpc(urls, timeout=timeout, answer_seconds=seconds, max_answer_bytes=max_answer_bytes, patient=patient)

    def batch(self, calls: Sequence[Call]) -> list[object]:
        """Send several calls to the first endpoint that answers them all."""
        asked = self.endpoints.in_order()
        answering, answers, failures = self._collected(asked, calls, self._limit_waits)
        for each in asked:
            if each.place in failures:
                self.endpoints.failed(each)
        if answering is None:
            raise self._unavailable(list(failures.values()))
        self.endpoints.succeeded(answering, prefer=True)
        return answers

    @property
    def pair(self) -> int:
        """How many endpoints must agree where one alone could mislead: two, if there are that many."""
        return min(2, len(self.endpoints.all))

    def agreed(self, question: Callable[[OneEndpoint], T], quorum: int) -> T:
        """Query endpoints in turn until ``quorum`` of them gave the same answer; return it.

        For ``eth_call``, ``eth_getLogs`` and headers at one named block; never for fees, gas, nonces, receipts or
        newest blocks, about which honest endpoints differ. An endpoint that fails, refuses or lacks the block has no
        vote; one that is outvoted is counted and queried last for a while. Raises ``ChainUnavailable`` if too few
        agree.
        """
        votes, failures = list[tuple[Endpoint, T]](), list[ChainUnavailable]()
        for endpoint in self.endpoints.in_order():
            try:
                answer = question(self._one(endpoint, self._limit_waits))
            except (ChainUnavailable, RpcRefused) as error:
                if isinstance(error, ChainUnavailable):
                    self.endpoints.failed(endpoint)
                failures.append(_failure(endpoint, error))
                continue
            votes.append((endpoint, answer))
            agreeing = [each for each, vote in votes if vote == answer]
            if len(agreeing) >= quorum:
                self.endpoints.succeeded(agreeing[0], prefer=True)
                for outvoted in (each for each, vote in votes if vote != answer):
                    self._contradicted(outvoted, quorum)
                return answer
        if not votes:
            raise self._unavailable(failures)
        most = max(sum(vote == other for _, other in votes) for _, vote in votes)
        raise ChainUnavailable(f"{most} of {len(self.endpoints.all)} RPC endpoints agree, but {quorum} must")

    def of_each(self, calls: Sequence[Call], *, least: int = 1) -> list[list[object]]:
        """Send these calls to each endpoint, and return the answers, as ``each`` does."""
        return self.each(lambda one: one.batch(calls), least=least)

    def each(self, question: Callable[[OneEndpoint], T], *, least: int = 1) -> list[T]:
        """Query each endpoint alone, in parallel, and return the answers. An endpoint without a usable answer is
        skipped and rests; resting ones are queried only to reach ``least``.
        """
        from concurrent.futures import ThreadPoolExecutor  # a command of the client starts without it

        endpoints = self.endpoints.awake(least)
        with ThreadPoolExecutor(len(endpoints)) as pool:
            # Each in a copy of the caller's context: what is logged there belongs to the caller.
            asked = [pool.submit(copy_context().run, self._attempt_of, each, question) for each in endpoints]
            return [answer for each in asked if (answer := each.result()) is not None]

    def _attempt_of(self, endpoint: Endpoint, question: Callable[[OneEndpoint], T]) -> T | None:
        try:
            answer = question(self._one(endpoint, ()))
        except ChainUnavailable:
            self.endpoints.failed(endpoint)
            return None
        self.endpoints.succeeded(endpoint, prefer=False)
        return answer

    def _one(self, endpoint: Endpoint, waits: Sequence[float]) -> OneEndpoint:
        return OneEndpoint(endpoint, partial(self._answers_of, endpoint, waits=waits), waits)

    def _contradicted(self, endpoint: Endpoint, quorum: int) -> None:
        if not self.endpoints.is_resting(endpoint):  # one line for each rest, not for each failure
            log.warning("RPC endpoint %d contradicts %d others", endpoint.place, quorum)
        self.endpoints.contradicted(endpoint)

    def _answers_of(self, endpoint: Endpoint, calls: Sequence[Call], waits: Sequence[float]) -> list[object]:
        """Return one endpoint's answers; the caller handles its failure."""
        answering, answers, failures = self._collected([endpoint], calls, waits)
        if answering is None:
            raise failures[endpoint.place]
        return answers

    def _collected(
        self, endpoints: Sequence[Endpoint], calls: Sequence[Call], limit_waits: Sequence[float]
    ) -> tuple[Endpoint | None, list[object], dict[int, ChainUnavailable]]:
        """Return the first endpoint that answers all calls, its answers, and how the others failed, by place.

        An endpoint that was queried too often, or is down for a moment, is queried again for the calls that it has not
        answered.
        """
        answers = {each.place: list[object]() for each in endpoints}
        failures = dict[int, ChainUnavailable]()
        asked, waits, ends = list(endpoints), list(limit_waits), time.monotonic() + PATIENCE_SECONDS
        while True:
            for endpoint in asked:
                found = answers[endpoint.place]
                known = len(found)
                try:
                    self._extend(found, endpoint, calls)
                except ChainUnavailable as error:
                    failures[endpoint.place] = error.bare()
                else:
                    return endpoint, found, failures
                if len(found) > known:  # it goes on, a part at a time
                    waits, ends = list(limit_waits), time.monotonic() + PATIENCE_SECONDS
            wait = waits.pop(0) if waits else None
            count = len(limit_waits) - len(waits)
            wishes = {
                each.place: _wished(failures[each.place], wait, count, max(limit_waits, default=0)) for each in asked
            }
            asked = [each for each in asked if wishes[each.place] is not None]
            pause = min((wish for wish in wishes.values() if wish is not None), default=None)
            if pause is None or time.monotonic() + pause > ends:
                return None, [], failures
            time.sleep(pause)

    def _extend(self, answers: list[object], endpoint: Endpoint, calls: Sequence[Call]) -> None:
        """Add one endpoint's answers to the calls that have none yet, in requests as large as it accepts.

        Providers limit the calls in one request, and few say so clearly: if several calls get no answer but the first
        of them alone does, the endpoint gets half as many from then on.
        """
        while len(answers) < len(calls):
            part, found = calls[len(answers) :][: endpoint.calls.size], list[object]()
            try:
                found = self.ask(endpoint, part)
            except ChainUnavailable as error:
                if error.silent and len(part) > 1:  # it may do them one after the other, which takes too long
                    endpoint.calls.size = 1
                if len(part) == 1 or error.silent or error.retry_after is not None:
                    raise
            if len(part) == 1 or not all(map(_is_refused, found)):
                endpoint.calls.answered(len(part))
                answers += found
                continue
            alone = self.ask(endpoint, part[:1])
            if found and _is_refused(alone[0]):  # each of them is refused, and not their number
                answers += found
            else:
                endpoint.calls.refused(len(part))
                answers += alone

    def _unavailable(self, failures: Sequence[ChainUnavailable]) -> ChainUnavailable:
        """Return the error to raise if each endpoint failed; it says when one of them may answer later."""
        kind = AnswerTooLarge if any(isinstance(each, AnswerTooLarge) for each in failures) else ChainUnavailable
        told = next((each for each in failures if each.limited), failures[-1])
        problem = f"none of {len(self.endpoints.all)} RPC endpoints gave a usable answer"
        if told.limited:
            problem += f": rate limit reached, try again {told.try_again}"
        return told.restated(kind, problem)

    def ask(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        """Send several calls to one endpoint in one request."""
        problem, host = f"RPC endpoint {endpoint.place} gave no usable answer", host_of(endpoint.url)
        try:
            answers = self._send(endpoint.url, calls)
        except (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            cause = unreachable(error) if isinstance(error, urllib3.exceptions.HTTPError) else str(error)
            known = cause if isinstance(error, urllib3.exceptions.HTTPError | _Unusable) else "no JSON-RPC answer"
            kind = AnswerTooLarge if isinstance(error, AnswerTooLong) else ChainUnavailable
            limited, retry_after = (error.limited, error.retry_after) if isinstance(error, _Unusable) else (False, None)
            passing = error.passing if isinstance(error, _Unusable) else is_cut(error)
            is_refused = isinstance(error, urllib3.exceptions.NewConnectionError)
            silent = isinstance(error, urllib3.exceptions.TimeoutError) and not is_refused
        else:
            limit = next((each for each in answers if isinstance(each, RpcRefused) and each.is_limit), None)
            if limit is None:
                return answers
            raise ChainUnavailable(
                problem, host=host, cause=f"error {limit.code}: {limit.message[:200]}", limited=True, refusal=limit
            )
        # Raised here, for those errors name the address, and their frames hold the answer.
        raise kind(
            problem,
            host=host,
            cause=known,
            limited=limited,
            retry_after=retry_after,
            passing=passing,
            silent=silent,
        )

    def distrust(self) -> None:
        """Query another endpoint first from now on, since the caller cannot use the last answer."""
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
        if may_pass(answer.status) or 300 <= answer.status < 400:
            raise _Unusable(f"status {answer.status}", answer, passing=may_pass(answer.status))
        try:
            by_id = {each.id: each for each in read_envelopes(answer.body, len(calls))}
            return [_result(by_id[i], each) for i, each in enumerate(wanted)]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            is_empty = answer.status == 200 and not answer.body
            raise _Unusable(f"status {answer.status} without a JSON-RPC answer", passing=is_empty) from None

    def _expected(self, method: str, params: Sequence[object]) -> "Expected":
        from bounty_protocol.chain.rpc_answers import Expected, expected

        return Expected(self._max_answer_bytes or 0) if self._own else expected(method, params)

    def _most_bytes(self, wanted: "Sequence[Expected]") -> int:
        """Return the most bytes of one answer to all of these calls."""
        from bounty_protocol.chain.rpc_answers import MOST_BYTES

        together = sum(each.most_bytes for each in wanted)
        if self._own:
            return together
        return min(together, MOST_BYTES, MOST_BYTES if self._max_answer_bytes is None else self._max_answer_bytes)


class _Unusable(ValueError):
    """Why an answer is none; the text names nothing of the address."""

    def __init__(self, why: str, answer: HttpAnswer | None = None, *, passing: bool = False) -> None:
        super().__init__(why)
        self.passing = passing
        self.retry_after = None if answer is None else answer.retry_after
        self.limited = answer is not None and (answer.status == _TOO_OFTEN or self.retry_after is not None)


def _failure(endpoint: Endpoint, error: ChainUnavailable | RpcRefused) -> ChainUnavailable:
    """Describe how one of several endpoints failed, to be kept while the others are queried."""
    if isinstance(error, ChainUnavailable):
        return error.bare()
    cause = f"error {error.code}: {error.message[:200]}"
    return ChainUnavailable("an RPC endpoint refused to answer", host=host_of(endpoint.url), cause=cause)


def _is_refused(answer: object) -> bool:
    """Return whether the endpoint refused, not the contract."""
    return isinstance(answer, RpcRefused) and not answer.is_revert


def _wished(failure: ChainUnavailable, wait: float | None, count: int, longest: float) -> float | None:
    """Return after how many seconds to retry an endpoint for the ``count``-th time; None if it failed for another
    reason, or wants a longer wait.
    """
    if wait is None or not (failure.limited or (failure.passing and count <= MOST_HICCUPS)):
        return None
    wished = failure.retry_after or wait
    return wished if wished <= longest else None


def host_of(url: str) -> str:
    """Host and port of an address, without any secret part."""
    parts = urlsplit(url)
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = ""
    return f"{parts.hostname or ''}{port}"


def unreachable(error: urllib3.exceptions.HTTPError) -> str:
    """Say why there was no answer, without naming an address."""
    match error:
        case AnswerRefused():
            return str(error)
        case urllib3.exceptions.NameResolutionError():
            return "its name cannot be resolved"
        case urllib3.exceptions.NewConnectionError():
            return "no connection"
        case urllib3.exceptions.SSLError():
            is_plain = "WRONG_VERSION_NUMBER" in str(error)
            return "it does not speak https" if is_plain else "its certificate is not accepted"
        case urllib3.exceptions.ConnectTimeoutError() | urllib3.exceptions.ReadTimeoutError():
            return "no answer in time"
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
    """Parse a JSON-RPC quantity, such as ``0x1b4``: digits only, at most those of a word, and at most ``most``.

    A number that no chain has (negative, of a thousand digits, a gas limit above that of any block) is a malformed
    answer.
    """
    if not isinstance(value, str) or _QUANTITY.fullmatch(value) is None or (found := int(value, 16)) > most:
        raise ChainUnavailable("an RPC endpoint returned a malformed quantity")
    return found


def block_number(value: object) -> BlockNumber:
    """Parse the number of a block."""
    return BlockNumber(quantity(value, 2**63 - 1))


def block_time(value: object) -> UnixSeconds:
    """Parse the time of a block, within the calendar."""
    return UnixSeconds(quantity(value, _LAST_SECOND))


def hex_bytes(value: object) -> bytes:
    """Parse a JSON-RPC byte string, such as ``0xdeadbeef``."""
    if not isinstance(value, str) or not value.startswith("0x"):
        raise ValueError("not a byte string")
    return bytes.fromhex(value[2:])


def hash_of(value: object) -> Bytes32:
    """Parse a 32-byte value."""
    try:
        return parse_bytes32(value if isinstance(value, str) else "")
    except ValueError as error:
        raise ChainUnavailable("an RPC endpoint returned a malformed hash") from error


def account_of(value: object) -> Address:
    """Parse an account."""
    try:
        return parse_address(value.lower() if isinstance(value, str) else "")
    except ValueError as error:
        raise ChainUnavailable("an RPC endpoint returned a malformed account") from error


def mapping(value: object) -> dict[str, object]:
    """Parse an object; ``null`` and everything else is a malformed answer."""
    if not isinstance(value, dict):
        raise ChainUnavailable("an RPC endpoint returned null or no object where an object is needed")
    return value
