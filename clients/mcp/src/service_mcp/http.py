"""The reading tools over streamable HTTP: a stateless process without keys, for assistants that are given a URL.

There is no login, since nothing there is anybody's. A request has to name a Host that is permitted, so that a page in
somebody's browser cannot reach it by another name; and each network has a budget of calls, some of which count as many.
"""

import asyncio
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from threading import Lock
from typing import Final

import click
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from service_cli.api import forwarded_for
from service_cli.config.environment import Environment
from service_cli.config.settings import load_settings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from service_mcp.reading import Limits
from service_mcp.server import Options, make_server

CALLS_IN_A_MINUTE: Final = 120
MOST_NETWORKS: Final = 30_000
IPV6_SHARES: Final = {64: 1, 56: 4, 48: 16}
"""How many times what one caller has each network of IPv6 around it has, by the length of its prefix: as in the API."""
MOST_AT_ONCE: Final = 32
MOST_BODIES: Final = 128
"""That are being read at a time, each of at most ``MOST_BODY``."""
MOST_OF_ONE: Final = 8
"""Of each of these of one caller."""
BODY_SECONDS: Final = 10.0
HEADERS_SECONDS: Final = 10.0
"""After which, at the latest twice that, a connection ends on which no request has begun, or whose answer is not read
to its end."""
HEAVY_AT_ONCE: Final = 2
MOST_BOUNTIES: Final = 25
"""Of each role of an account: a status costs the chain's endpoint some hundred calls."""
MOST_BODY: Final = 512 * 1024
HEALTH: Final = "/healthz"
"""Answers as long as the process serves, to whatever asks: the probe of a pod names no host and has no budget."""
DRAIN_SECONDS: Final = 25
"""How long calls that were begun may take to end after SIGTERM."""
ENDPOINTS_FILE: Final = "SERVICE_RPC_URLS_FILE"
"""A file of the chain's endpoints, separated by commas, as the services read it: an address may hold a credential."""


Networks = tuple[tuple[str, int], ...]
"""The networks that a caller counts for, its own first, each with how many times one caller's budget it has."""
_asking: ContextVar[Networks] = ContextVar("asking", default=())


class Budgets:
    """A bucket of calls for each network, refilled over a minute; the networks seen last are kept. Thread-safe."""

    def __init__(self, calls: int) -> None:
        self._calls = calls
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def charge(self, calls: int) -> bool:
        """Take these calls of whoever asks now; False, and nothing taken, where one of the networks has fewer left."""
        with self._lock:
            now = time.monotonic()
            left = {
                network: self._left_of(network, float(self._calls * times), now) for network, times in _asking.get()
            }
            granted = all(each >= calls for each in left.values())
            for network, each in left.items():
                self._left[network] = (each - calls if granted else each, now)
                self._left.move_to_end(network)
            while len(self._left) > MOST_NETWORKS:
                self._left.popitem(last=False)
            return granted

    def _left_of(self, network: str, most: float, now: float) -> float:
        left, at = self._left.get(network, (most, now))
        return min(most, left + (now - at) * most / 60)


class Places:
    """So many at a time: of one caller ``MOST_OF_ONE``, of a network around it as many times that as it has budgets,
    and never more than half, so that nobody with a large network keeps all others out."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()
        self._total = 0

    @contextmanager
    def taken(self, networks: Networks) -> Iterator[bool]:
        """Hold a place inside; False, and none is held, where there is none left."""
        granted = self._total < self._most and all(
            self._taken[network] < min(MOST_OF_ONE * times, self._most // 2) for network, times in networks
        )
        held = [network for network, _ in networks] if granted else []
        self._taken.update(held)
        self._total += granted
        try:
            yield granted
        finally:
            self._taken.subtract(held)
            self._taken += Counter()  # drops those without any
            self._total -= granted


class Entrance:
    """Lets in who has calls left, so many at a time, and has the API know on whose behalf it is asked.

    A body is read before its call has a place among those that are answered, and has a time: one that drips would hold
    the place for nothing.

    ``hops`` is how many proxies of this deployment are in front, each adding who called it to ``X-Forwarded-For``. The
    probe of a pod is let in always: one that was refused while others are served would end all that is under way.
    """

    def __init__(self, app: ASGIApp, budgets: Budgets, hops: int) -> None:
        self._app, self._budgets, self._hops = app, budgets, hops
        self._bodies, self._at_work = Places(MOST_BODIES), Places(MOST_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == HEALTH:
            await self._app(scope, receive, send)
            return
        if scope["method"] != "POST":  # a GET would hold its place for a stream that nothing is ever sent on
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
            return
        stated = _stated(scope, self._hops)
        networks = networks_of(stated[0] if stated else str(scope["client"][0]) if scope["client"] else "")
        _asking.set(networks)
        forwarded_for.set(", ".join(stated))
        if not self._budgets.charge(1):
            await _refuse(429, "rate_limit_reached", "Too many calls in a minute.")(scope, receive, send)
            return
        with self._bodies.taken(networks) as granted:
            body = await _body(receive) if granted else _refuse(503, "service_overloaded", _TOO_MANY)
        if isinstance(body, Response):
            await body(scope, receive, send)
            return
        with self._at_work.taken(networks) as granted:
            app = self._app if granted else _refuse(503, "service_overloaded", _TOO_MANY)
            await app(scope, _again(body, receive), send)


_TOO_MANY: Final = "As many calls as are answered at a time are being answered."


async def _body(receive: Receive) -> bytes | Response:
    """A request's body, with more than ``MOST_BODY`` bytes where it is too long; a refusal where it does not end."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while len(body) <= MOST_BODY:
                message = await receive()
                body += message.get("body", b"")
                if not message.get("more_body", False):  # the end, or a caller that went away
                    break
    except TimeoutError:
        return _refuse(408, "request_too_slow", f"The body did not come within {BODY_SECONDS:.0f} seconds.")
    return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read, then whatever follows."""
    read: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return read.pop() if read else await receive()

    return receive_again


def _refuse(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message}}, status, {"Retry-After": "10"})


def _stated(scope: Scope, hops: int) -> list[str]:
    """What our own proxies saw, the outermost first; what the caller itself wrote never counts."""
    stated = ",".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for")
    named = [part.strip() for part in stated.split(",") if part.strip()]
    return named[-hops:] if 0 < hops <= len(named) else []


def networks_of(address: str) -> Networks:
    """An IPv4 address, or the /64 that one subscriber has in IPv6 and what is around it; all others count as one."""
    try:
        found = ip_address(address)
    except ValueError:
        return (("unknown", 1),)
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is None:
            return tuple((str(ip_network((found, size), strict=False)), times) for size, times in IPV6_SHARES.items())
        found = found.ipv4_mapped
    return ((str(found), 1),)


def make_app(options: Options, hosts: Sequence[str], calls: int = CALLS_IN_A_MINUTE, hops: int = 0) -> ASGIApp:
    """The application; whatever ``options`` say, it has no role, no policy and no directory."""
    budgets = Budgets(calls)
    limits = Limits(HEAVY_AT_ONCE, MOST_BOUNTIES, budgets.charge)
    server = make_server(Options(options.values, options.network, limits=limits))

    @server.custom_route(HEALTH, methods=["GET"])  # type: ignore[untyped-decorator]
    async def health(request: Request) -> JSONResponse:  # noqa: ARG001  # Starlette passes it
        return JSONResponse({"status": "ok"})

    allowed = [each for host in hosts for each in (host, f"{host}:*")]
    security = TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=[f"https://{host}" for host in hosts])
    app = server.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=MOST_BODY, transport_security=security
    )
    return Entrance(app, budgets, hops)


def with_endpoints(values: Mapping[str, str]) -> dict[str, str]:
    """The variables, with the endpoints of ``SERVICE_RPC_URLS_FILE`` where it is set: the first one, and further ones.

    Raises ``click.BadParameter`` where the file cannot be read or is empty.
    """
    if (path := values.get(ENDPOINTS_FILE)) is None:
        return dict(values)
    try:
        urls = [url.strip() for url in Path(path).read_text(encoding="utf-8").split(",") if url.strip()]
    except (OSError, UnicodeDecodeError):
        urls = []
    if not urls:
        raise click.BadParameter("it is a file with an endpoint of the chain.", param_hint=ENDPOINTS_FILE)
    return {**values, "SERVICE_RPC_URL": urls[0], "SERVICE_RPC_URLS": ",".join(urls)}


def serve(options: Options, address: str, hosts: Sequence[str], hops: int) -> None:
    """Until SIGTERM, after which calls that were begun may end; refused at once where the deployment is not known."""
    load_settings(options.network, None, environment=Environment(options.values, {}))
    host, _, port = address.rpartition(":")
    if not host or re.fullmatch("[0-9]{1,5}", port) is None or not 0 < int(port) < 65_536:
        raise click.BadParameter("it is HOST:PORT, the port 1 to 65535.", param_hint="--http")
    uvicorn.Server(server_config(make_app(options, hosts or (host,), hops=hops), host, int(port))).run()


def server_config(app: ASGIApp, host: str, port: int) -> uvicorn.Config:
    """Without a bound of uvicorn's own on connections: at it the probe would be refused like anybody."""
    return uvicorn.Config(
        app, host=host, port=port, log_level="warning", lifespan="on", http=PromptProtocol, proxy_headers=False,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )  # fmt: skip


class PromptProtocol(H11Protocol):
    """HTTP/1.1, which ends a connection on which no request begins, or whose answer nobody reads: idle ones and their
    answers would fill the process's memory, and a further call on such a connection would hold its place for ever.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the class above
        super().connection_made(transport)
        self._look_later(is_unread=False)

    def _look_later(self, *, is_unread: bool) -> None:
        self.loop.call_later(HEADERS_SECONDS, self._look, self.cycle, is_unread)

    def _look(self, before: RequestResponseCycle | None, was_unread: bool) -> None:
        if self not in self.connections:  # it has ended
            return
        cycle: RequestResponseCycle | None = self.cycle
        is_unread = self.transport.get_write_buffer_size() > 0
        if cycle is before and was_unread and is_unread:
            self.transport.abort()  # to close it would wait for its reader
            return
        if cycle is before and (cycle is None or cycle.response_complete):
            self.transport.close()
        self._look_later(is_unread=is_unread)
