"""The reading tools over streamable HTTP: a stateless process without keys, for assistants that are given a URL.

There is no login, since nothing there is anybody's. A request has to name a Host that is permitted, so that a page in
somebody's browser cannot reach it by another name; and each address has a budget of calls.
"""

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Final

import click
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from service_cli.config.environment import Environment
from service_cli.config.settings import load_settings
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from service_mcp.server import Options, make_server

CALLS_IN_A_MINUTE: Final = 120
MOST_ADDRESSES: Final = 10_000
MOST_AT_ONCE: Final = 32
AUDITS_AT_ONCE: Final = 2
"""Each costs the chain's endpoint a hundred calls."""
MOST_BODY: Final = 512 * 1024
HEALTH: Final = "/healthz"
"""Answers as long as the process serves, to whatever asks: the probe of a pod names no host and has no budget."""
DRAIN_SECONDS: Final = 25
"""How long calls that were begun may take to end after SIGTERM."""
ENDPOINTS_FILE: Final = "SERVICE_RPC_URLS_FILE"
"""A file of the chain's endpoints, separated by commas, as the services read it: an address may hold a credential."""


class Budgets:
    """A bucket of calls for each address, refilled over a minute; the addresses seen last are kept.

    ``hops`` is how many proxies of this deployment are in front, each adding who called it to ``X-Forwarded-For``.
    """

    def __init__(self, app: ASGIApp, calls: int = CALLS_IN_A_MINUTE, hops: int = 0) -> None:
        self._app, self._calls, self._hops = app, calls, hops
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limited = scope["type"] == "http" and scope["path"] != HEALTH
        if limited and not self._takes_one(_caller(scope, self._hops)):
            refusal = {"error": {"code": "rate_limit_reached", "message": "Too many calls in a minute."}}
            await JSONResponse(refusal, 429, {"Retry-After": "10"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _takes_one(self, address: str) -> bool:
        with self._lock:
            now = time.monotonic()
            left, at = self._left.pop(address, (float(self._calls), now))
            left = min(float(self._calls), left + (now - at) * self._calls / 60)
            self._left[address] = (max(0.0, left - 1), now)
            while len(self._left) > MOST_ADDRESSES:
                self._left.popitem(last=False)
            return left >= 1


def _caller(scope: Scope, hops: int) -> str:
    """What the outermost of our own proxies saw, else the peer; what the caller itself wrote never counts."""
    stated = ",".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for")
    named = [part.strip() for part in stated.split(",") if part.strip()]
    if 0 < hops <= len(named):
        return named[-hops]
    return str(scope["client"][0]) if scope["client"] else ""


def make_app(options: Options, hosts: Sequence[str], calls: int = CALLS_IN_A_MINUTE, hops: int = 0) -> ASGIApp:
    """The application; whatever ``options`` say, it has no role, no policy and no directory."""
    server = make_server(Options(options.values, options.network, audits_at_once=AUDITS_AT_ONCE))

    @server.custom_route(HEALTH, methods=["GET"])  # type: ignore[untyped-decorator]
    async def health(request: Request) -> JSONResponse:  # noqa: ARG001  # Starlette passes it
        return JSONResponse({"status": "ok"})

    allowed = [each for host in hosts for each in (host, f"{host}:*")]
    security = TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=[f"https://{host}" for host in hosts])
    app = server.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=MOST_BODY, transport_security=security
    )
    return Budgets(app, calls, hops)


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
    if not host or not port.isascii() or not port.isdigit():
        raise click.BadParameter("it is HOST:PORT.", param_hint="--http")
    app = make_app(options, hosts or (host,), hops=hops)
    uvicorn.run(
        app, host=host, port=int(port), log_level="warning", limit_concurrency=MOST_AT_ONCE, lifespan="on",
        timeout_graceful_shutdown=DRAIN_SECONDS, proxy_headers=False,
    )  # fmt: skip
