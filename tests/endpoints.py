"""An RPC endpoint before a real node that behaves badly in one way a test chooses."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import urllib3

from tests.serving import serving

Change = Callable[[str, list[Any], Any], Any]
"""Method, parameters and the node's result to what this endpoint says instead."""


@dataclass(frozen=True)
class Refusal:
    """What ``change`` returns for an error of the endpoint in place of a result."""

    code: int
    message: str


@dataclass
class Endpoint:
    """A running endpoint. ``change`` may be replaced at any time; ``raw`` is answered instead of everything."""

    url: str
    change: Change = lambda _method, _params, result: result
    raw: tuple[int, bytes] | None = None
    hang_seconds: float = 0.0
    withholds: frozenset[str] = frozenset()
    """Methods that do not reach the node: ``change`` is asked with no result."""
    asked: list[str] = field(default_factory=list)


@contextmanager
def endpoint_before(node: str) -> Iterator[Endpoint]:
    """An endpoint that passes everything to ``node`` until told otherwise."""
    http = urllib3.PoolManager()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else a body waits 40 ms for the acknowledgement of its head

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests = json.loads(body)
            listed = requests if isinstance(requests, list) else [requests]
            made.asked.extend(request["method"] for request in listed)
            time.sleep(made.hang_seconds)
            try:
                status, answer = made.raw or (200, self._changed(listed, isinstance(requests, list), body))
            except urllib3.exceptions.HTTPError:  # the node is away
                status, answer = 502, b""
            with suppress(BrokenPipeError, ConnectionResetError):  # nobody waits for it any more
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

        def _changed(self, requests: list[dict[str, Any]], batched: bool, body: bytes) -> bytes:
            if made.withholds.intersection(request["method"] for request in requests):
                empty = [{"jsonrpc": "2.0", "id": request["id"], "result": None} for request in requests]
                received: Any = empty if batched else empty[0]
            else:
                received = http.request("POST", node, body=body, headers={"Content-Type": "application/json"}).json()
            answers = received if batched else [received]
            for request, answer in zip(requests, answers, strict=True):
                if "result" in answer:
                    found = made.change(request["method"], request["params"], answer.pop("result"))
                    answer.update({"error": asdict(found)} if isinstance(found, Refusal) else {"result": found})
            return json.dumps(answers if batched else answers[0]).encode()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that was killed is no error here
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    made = Endpoint(f"http://127.0.0.1:{server.server_port}/v1/secret-key")
    with serving(server):
        yield made
