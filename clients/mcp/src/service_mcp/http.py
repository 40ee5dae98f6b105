"""The reading tools over streamable HTTP: a stateless process without keys, for assistants that are given a URL.

There is no login, since nothing there is anybody's. A request has to name a Host that is permitted, so that a page in
somebody's browser cannot reach it by another name; and each address has a budget of calls.
"""

import time
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final

import click
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from service_mcp.server import Options, make_server

CALLS_IN_A_MINUTE: Final = 120
MOST_ADDRESSES: Final = 10_000
MOST_AT_ONCE: Final = 32
AUDITS_AT_ONCE: Final = 2
"""Each costs the chain's endpoint a hundred calls."""
MOST_BODY: Final = 512 * 1024


class Budgets:
    """A bucket of calls for each address, refilled over a minute; the addresses seen last are kept."""

    def __init__(self, app: ASGIApp, calls: int = CALLS_IN_A_MINUTE) -> None:
        self._app, self._calls = app, calls
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._takes_one(scope["client"][0] if scope["client"] else ""):
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


def make_app(options: Options, hosts: Sequence[str], calls: int = CALLS_IN_A_MINUTE) -> ASGIApp:
    """The application; whatever ``options`` say, it has no role, no policy and no directory."""
    server = make_server(Options(options.values, options.network, audits_at_once=AUDITS_AT_ONCE))
    allowed = [each for host in hosts for each in (host, f"{host}:*")]
    security = TransportSecuritySettings(allowed_hosts=allowed, allowed_origins=[f"https://{host}" for host in hosts])
    app = server.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=MOST_BODY, transport_security=security
    )
    return Budgets(app, calls)


def serve(options: Options, address: str, hosts: Sequence[str]) -> None:
    """Until it is told to end."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit():
        raise click.BadParameter("it is HOST:PORT.", param_hint="--http")
    app = make_app(options, hosts or (host,))
    uvicorn.run(app, host=host, port=int(port), log_level="warning", limit_concurrency=MOST_AT_ONCE, lifespan="on")
