"""HTTP without sockets: a command in this process, whose requests a test's servers answer in the command's own thread.

So it can be killed at any request, time can stand still meanwhile, and a run takes a third of the time. What goes to
other addresses, such as the node behind a proxy, takes the usual way.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
import urllib3
from beacon import LocalBeacon
from beacon.server import answer
from service_common.chain.json_rpc import ChainUnavailable, RpcRefused
from service_common.clock import SystemClock
from service_common.errors import ServiceError

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


@dataclass
class Wire:
    """The servers by their names, and a beacon. ``strike`` is called at each request and may raise ``Killed``."""

    servers: dict[str, Server]
    beacon: LocalBeacon
    beacon_url: str
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
    content = body if isinstance(body, bytes) else b"" if body is None else b"".join(body)
    parts = urlsplit(url)
    return Request(method, parts.path, parts.query, {name.lower(): value for name, value in headers.items()}, content)


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
