"""HTTP without sockets: a command in this process, whose requests a test's servers answer in the command's own thread.

So it can be killed at any request, time can stand still meanwhile, and a run takes a third of the time. The node behind
the servers is a process of its own, reached over one connection.
"""

import io
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import urllib3
from beacon import LocalBeacon
from beacon.server import answer
from bounty_protocol.chain.rpc import ChainUnavailable, RpcRefused
from bounty_protocol.clock import SystemClock
from bounty_protocol.errors import ServiceError

from tests.cli.servers import Lost, Reply, Request, Server, as_json

Moment = str
"""``before`` a request is carried out, or ``after``."""


class Killed(SystemExit):
    """The process ends here, as by SIGKILL: no client catches it, and what its ``finally`` does afterwards is undone
    by what raised it."""

    CODE = 137

    def __init__(self) -> None:
        super().__init__(self.CODE)


class Mistake(BaseException):
    """Of a test's own server; no client is to handle it."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A request that left the client: which server got it, and when by the machine's clock."""

    server: str
    at: float
    request: Request


class Line:
    """A connection to a server on this machine that is kept open: a tenth of what a general HTTP library takes."""

    def __init__(self, url: str) -> None:
        self.port = urlsplit(url).port
        self._socket = socket.create_connection(("127.0.0.1", self.port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def close(self) -> None:
        self._answers.close()
        self._socket.close()

    def post(self, body: bytes) -> Reply:
        head = "POST / HTTP/1.1\r\nHost: node\r\nContent-Type: application/json\r\nContent-Length: "
        self._socket.sendall(f"{head}{len(body)}\r\n\r\n".encode() + body)
        status, length = int(self._answers.readline().split()[1]), 0
        while (line := self._answers.readline().strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        return status, self._answers.read(length), {}


@dataclass
class Wire:
    """The servers by their names, a beacon, the node. ``strike`` is called at each request and may raise ``Killed``."""

    servers: dict[str, Server]
    beacon: LocalBeacon
    beacon_url: str
    node: Line
    now: Callable[[], float]
    heard: list[Heard] = field(default_factory=list)
    strike: Callable[[Moment, Heard], None] = lambda _moment, _heard: None

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Answer these servers' requests directly."""
        names = {urlsplit(server.url).port: name for name, server in self.servers.items()}
        beacon_port = urlsplit(self.beacon_url).port
        usual = urllib3.HTTPConnectionPool.urlopen

        def urlopen(
            pool: urllib3.HTTPConnectionPool, method: str, url: str, body: Any = None, headers: Any = None, **more: Any
        ) -> urllib3.BaseHTTPResponse:
            if pool.port == beacon_port:
                status, value, shown = answer(urlsplit(url).path, self.beacon, SystemClock())
                return _response(as_json(value, status, **shown), method, url, more)
            if pool.port == self.node.port:
                return _response(self.node.post(_content(body)), method, url, more)
            if (name := names.get(pool.port)) is None:
                return usual(pool, method, url, body, headers, **more)
            return _response(self._reply(name, _request(method, url, body, headers or {})), method, url, more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(urllib3.HTTPConnectionPool, "urlopen", urlopen)
            yield

    def _reply(self, name: str, request: Request) -> Reply:
        heard = Heard(name, self.now(), request)
        self.strike("before", heard)
        self.heard.append(heard)
        try:
            reply = self.servers[name].reply(request)
        except (Lost, RpcRefused, ChainUnavailable, ServiceError):  # the last three of a server that a forgery confused
            raise urllib3.exceptions.ProtocolError("the connection was closed") from None
        except Exception as error:
            raise Mistake(f"{name}: {error!r}") from error
        self.strike("after", heard)
        return reply


def _request(method: str, url: str, body: Any, headers: Any) -> Request:
    parts = urlsplit(url)
    named = {name.lower(): value for name, value in headers.items()}
    return Request(method, parts.path, parts.query, named, _content(body))


def _content(body: Any) -> bytes:
    if body is None or isinstance(body, str | bytes):
        return (body or "").encode() if not isinstance(body, bytes) else body
    return b"".join(body)


def _response(reply: Reply, method: str, url: str, more: dict[str, Any]) -> urllib3.BaseHTTPResponse:
    status, body, headers = reply
    return urllib3.HTTPResponse(
        io.BytesIO(body),
        {"Content-Length": str(len(body)), **headers},
        status,
        preload_content=more.get("preload_content", True),
        request_method=method,
        request_url=url,
    )
