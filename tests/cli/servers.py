"""HTTP servers of one test: small, threaded, closed with the test.

``RpcProxy`` stands between a client and a real node and can alter, refuse or lose what passes; ``Server`` answers
whatever a function says. Both end with a ``with`` block.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import urllib3

from tests.serving import serving

Reply = tuple[int, bytes, dict[str, str]]


class Lost(Exception):
    """Close the connection without an answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.body)
        return found


class Server:
    """Answers each request with what ``answer`` returns; ``Lost`` drops the connection.

    ``alter`` may change what is answered. ``reply`` is the same without a connection.
    """

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.requests: list[Request] = []
        self.alter: Callable[[Request, Reply], Reply] = lambda _request, reply: reply
        self._answer = answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 65_536

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                path, _, query = self.path.partition("?")
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.command, path, query, headers, self.rfile.read(length))
                try:
                    status, body, more = outer.reply(request)
                except Lost:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in more.items():
                    self.send_header(name, value)
                if "Transfer-Encoding" not in more:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):  # by a client that has read enough
                    self.wfile.write(body)

            def do_GET(self) -> None:
                self.do_POST()

            def do_PUT(self) -> None:
                self.do_POST()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._serving = ExitStack()
        self._serving.enter_context(serving(self._server))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def reply(self, request: Request) -> Reply:
        """What is answered to a request; raises ``Lost`` where the connection is dropped."""
        self.requests.append(request)
        return self.alter(request, self._answer(request))

    def close(self) -> None:
        self._serving.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def as_json(value: object, status: int = 200, **headers: str) -> Reply:
    """A JSON answer."""
    return status, json.dumps(value).encode(), {"Content-Type": "application/json", **headers}


Params = list[Any]
Change = Callable[[str, Params, Any], object]
"""Of a method, its parameters and the node's result: what the endpoint answers instead."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error in place of a result."""

    code: int
    message: str

    @property
    def body(self) -> dict[str, object]:
        return {"error": {"code": self.code, "message": self.message}}


@dataclass
class RpcProxy:
    """A node seen through somebody else's endpoint.

    ``before`` may answer in the node's place (an object with ``result`` or ``error``) or raise ``Lost``; ``after`` may
    alter a result, return a ``Refusal``, or raise ``Lost`` when the node has done its work already. ``refuse`` may
    answer a whole request, given how many calls it has.
    """

    node_url: str
    calls: list[str] = field(default_factory=list)
    before: Callable[[str, Params], dict[str, object] | None] = lambda _method, _params: None
    after: Change = lambda _method, _params, result: result
    refuse: Callable[[int], Reply | None] = lambda _calls: None

    def __post_init__(self) -> None:
        self._http = urllib3.PoolManager(retries=False)
        self.server = Server(self._answer)

    @property
    def url(self) -> str:
        return self.server.url

    def honest(self) -> None:
        """From here on alter and refuse nothing."""
        self.refuse = lambda _calls: None
        self.before = lambda _method, _params: None
        self.after = lambda _method, _params, result: result

    def charge(self, gwei: int) -> None:
        """The endpoint shows blocks with this base fee."""

        def after(method: str, _params: Params, found: object) -> object:
            shown = method == "eth_getBlockByNumber" and isinstance(found, dict)
            return {**found, "baseFeePerGas": hex(gwei * 10**9)} if shown else found  # type: ignore[dict-item]

        self.after = after

    def refuse_transactions(self) -> None:
        """The endpoint takes no transaction."""
        refusal = Refusal(-32000, "not today").body
        self.before = lambda method, _params: refusal if method == "eth_sendRawTransaction" else None

    def lose_first_transaction(self) -> None:
        """The endpoint takes the first transaction, and drops it."""

        def before(method: str, _params: Params) -> dict[str, object] | None:
            lost = method == "eth_sendRawTransaction" and self.sent() == 1
            return {"result": "0x" + "00" * 32} if lost else None

        self.before = before

    def count_ahead(self) -> None:
        """The endpoint shows the account's next nonce as one more than it is."""

        def after(method: str, params: Params, found: object) -> object:
            is_next = method == "eth_getTransactionCount" and params[1] == "pending"
            return hex(int(str(found), 16) + 1) if is_next else found

        self.after = after

    def hold_finality(self, block: int, looks: int = 100, then: Callable[[], object] = lambda: None) -> None:
        """The chain has finalized no more than ``block`` for so many looks; ``then`` happens at the last of them."""
        seen: list[int] = []

        def before(method: str, params: Params) -> dict[str, object] | None:
            if "finalized" not in params or len(seen) == looks:
                return None
            asked = [hex(block) if each == "finalized" else each for each in params]
            answer = self._ask_node({"jsonrpc": "2.0", "id": 0, "method": method, "params": asked})
            if method == "eth_getBlockByNumber":
                seen.append(1)
                if len(seen) == looks:
                    then()
            return {name: answer[name] for name in ("result", "error") if name in answer}

        self.before = before

    def close(self) -> None:
        self.server.close()
        self._http.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sent(self) -> int:
        """How many transactions the client tried to send."""
        return self.calls.count("eth_sendRawTransaction")

    def _answer(self, request: Request) -> Reply:
        asked = json.loads(request.body)
        calls = asked if isinstance(asked, list) else [asked]
        if (refusal := self.refuse(len(calls))) is not None:
            return refusal
        answers = list(self._answers(calls))
        return as_json(answers if isinstance(asked, list) else answers[0])

    def _answers(self, calls: list[dict[str, Any]]) -> Iterator[dict[str, object]]:
        instead = list[dict[str, object] | None]()
        for call in calls:
            self.calls.append(call["method"])
            instead.append(self.before(call["method"], call["params"]))
        passed_on = [call for call, other in zip(calls, instead, strict=True) if other is None]
        received = iter(self._ask_node(passed_on) if passed_on else [])
        for call, other in zip(calls, instead, strict=True):
            answer = next(received) if other is None else other
            if other is None and "result" in answer:
                found = self.after(call["method"], call["params"], answer["result"])
                answer = found.body if isinstance(found, Refusal) else {"result": found}
            yield {"jsonrpc": "2.0", **answer, "id": call["id"]}

    def _ask_node(self, request: object) -> Any:
        headers = {"Content-Type": "application/json"}
        try:
            return self._http.request("POST", self.node_url, body=json.dumps(request), headers=headers).json()
        except urllib3.exceptions.HTTPError:  # the node is away
            raise Lost from None
