"""A small JSON-RPC client over several endpoints.

A call is tried on each endpoint in turn, in the order of ``endpoints``. An endpoint's address, which may hold a secret,
never appears in an error or a log. Answers over ``max_answer_bytes``, answers that take longer than ``answer_seconds``
in all and answers that are not JSON-RPC count as none.
``ChainUnavailable`` is raised when no endpoint answers, and ``RpcRefused`` when one answers with an error of its own (a
revert, a method it does not have).
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Final
from urllib.parse import urlsplit

import urllib3

from service_common.chain.endpoints import Endpoint, Endpoints
from service_common.timely import timely_pools
from service_common.types import Address, BlockNumber, Bytes32, UnixSeconds, parse_address, parse_bytes32

MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
TIMEOUT: Final = urllib3.Timeout(connect=3.0, read=15.0)
"""For connecting, and for each wait until something more comes."""
ANSWER_SECONDS: Final = 60.0

_NOT_NOW: Final = frozenset({429, 502, 503, 504})
"""Statuses of an endpoint that is limited or down: the next one is tried."""

Call = tuple[str, list[object]]
Watch = Callable[[Sequence[Call], int], AbstractContextManager[object]]


def _unwatched(_calls: Sequence[Call], _place: int) -> AbstractContextManager[object]:
    return nullcontext()


watch: Watch = _unwatched
"""A context around each request, given its calls and the endpoint's place; a service with traces puts a span here."""


class ChainUnavailable(Exception):
    """No endpoint gave a usable answer.

    ``host`` and ``cause`` are of the last one queried, where it is known: never a path or a credential of its address.
    They are no part of the text, which services log.
    """

    def __init__(self, problem: str = "", *, host: str | None = None, cause: str | None = None) -> None:
        super().__init__(problem)
        self.host = host
        self.cause = cause


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


class JsonRpc:
    """JSON-RPC over HTTP. Thread-safe."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        timeout: urllib3.Timeout = TIMEOUT,
        answer_seconds: float = ANSWER_SECONDS,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self.endpoints = Endpoints(urls)
        self._max_answer_bytes = max_answer_bytes
        self._http = timely_pools(answer_seconds, maxsize=16, retries=False, timeout=timeout)

    def bounded(self, *, seconds: float, max_answer_bytes: int) -> "JsonRpc":
        """A client of the same endpoints that waits and reads less: what waits on it is a person's request."""
        timeout = urllib3.Timeout(connect=min(1.0, seconds), read=seconds)
        urls = [each.url for each in self.endpoints.all]
        return JsonRpc(urls, timeout=timeout, answer_seconds=seconds, max_answer_bytes=max_answer_bytes)

    def call(self, method: str, *params: object) -> object:
        """One call; its ``result``."""
        answer = self.batch([(method, list(params))])[0]
        if isinstance(answer, RpcRefused):
            raise answer
        return answer

    def batch(self, calls: Sequence[Call]) -> list[object]:
        """Several calls in one request; each answer is its ``result`` or the ``RpcRefused`` it met."""
        host = cause = None
        for endpoint in self.endpoints.in_order():
            try:
                answers = self.ask(endpoint, calls)
            except ChainUnavailable as error:
                self.endpoints.failed(endpoint)
                host, cause = error.host, error.cause
                continue
            self.endpoints.succeeded(endpoint, prefer=True)
            return answers
        problem = f"none of {len(self.endpoints.all)} RPC endpoints gave a usable answer"
        raise ChainUnavailable(problem, host=host, cause=cause)

    def ask(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        """The same of one endpoint; what becomes of one that fails is left to the caller."""
        try:
            with watch(calls, endpoint.place):
                return self._send(endpoint.url, calls)
        except (urllib3.exceptions.HTTPError, ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            # Not chained: these errors name the address.
            cause = unreachable(error) if isinstance(error, urllib3.exceptions.HTTPError) else str(error)
            known = cause if isinstance(error, urllib3.exceptions.HTTPError | _Unusable) else "no JSON-RPC answer"
            problem = f"RPC endpoint {endpoint.place} gave no usable answer"
            raise ChainUnavailable(problem, host=host_of(endpoint.url), cause=known) from None

    def distrust(self) -> None:
        """The caller cannot use the last answer: query another endpoint first."""
        self.endpoints.distrusted()

    def _send(self, url: str, calls: Sequence[Call]) -> list[object]:
        requests = [
            {"jsonrpc": "2.0", "id": i, "method": method, "params": params} for i, (method, params) in enumerate(calls)
        ]
        body = json.dumps(requests if len(requests) > 1 else requests[0]).encode()
        response = self._http.request(
            "POST", url, body=body, headers={"Content-Type": "application/json"}, preload_content=False, redirect=False
        )
        with closing(response):  # one that was read to its end has given its connection back
            data = response.read(self._max_answer_bytes + 1)
        if len(data) > self._max_answer_bytes:
            raise _Unusable(f"an answer of more than {self._max_answer_bytes} bytes")
        if response.status in _NOT_NOW:
            raise _Unusable(f"status {response.status}")
        try:
            parsed = json.loads(data)
            answers = parsed if isinstance(parsed, list) else [parsed]
            by_id = {answer["id"]: answer for answer in answers}
            return [_result(by_id[i]) for i in range(len(calls))]
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise _Unusable(f"status {response.status} without a JSON-RPC answer") from None


class _Unusable(ValueError):
    """Why an answer is none; the text names nothing of the address."""


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


def _result(answer: dict[str, object]) -> object:
    error = answer.get("error")
    if error is None:
        return answer["result"]
    if not isinstance(error, dict):
        raise ValueError("malformed error")
    data = error.get("data")
    try:
        revert = hex_bytes(data) if isinstance(data, str) else b""
    except ValueError:
        revert = b""
    return RpcRefused(int(error.get("code", 0)), str(error.get("message", "")), revert)


_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}")
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
