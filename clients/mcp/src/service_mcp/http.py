"""The reading tools over streamable HTTP, as the SDK serves them: stateless, without keys, for assistants given a URL.

There is no login, since nothing there is anybody's. A request has to name a Host that is permitted, so that a page in
somebody's browser cannot reach the server by another name. Sizes, rates and slow callers are the proxy's before it.
"""

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

import click
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from service_mcp.reading import Limits
from service_mcp.server import Options, make_server

OF_STRANGERS: Final = Limits(at_once=2, most_bounties=25)
_MOST_BODY: Final = 512 * 1024


def serve(options: Options, address: str, hosts: Sequence[str]) -> None:
    """Serve the tools of these options until SIGTERM; refuse at once if nobody could name the server."""
    host, _, port = address.rpartition(":")
    if not host or re.fullmatch("[0-9]{1,5}", port) is None or not 0 < int(port) < 65_536:
        raise click.BadParameter("it is HOST:PORT, the port 1 to 65535.", param_hint="--http")
    if not hosts and _is_wildcard(host):
        raise click.UsageError(
            "--http with an address of every interface takes --allow-host: the name that callers use."
        )
    app = make_app(options, hosts or (host,))
    uvicorn.run(app, host=host.strip("[]"), port=int(port), log_level="warning", lifespan="on", proxy_headers=False)


def make_app(options: Options, hosts: Sequence[str]) -> ASGIApp:
    """Return the application, which requests reach by these hosts, whatever case they are written in."""
    named = [host.lower() for host in hosts]
    app = make_server(options).streamable_http_app(
        stateless_http=True,
        json_response=True,
        max_request_body_size=_MOST_BODY,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[each for host in named for each in (host, f"{host}:*")],
            allowed_origins=[f"https://{host}" for host in named],
        ),
    )

    async def in_lower_case(scope: Scope, receive: Receive, send: Send) -> None:
        """Lower the case of hosts and origins: the SDK compares them as they are written."""
        if scope["type"] == "http":
            names = {b"host", b"origin"}
            headers = [(name, value.lower() if name in names else value) for name, value in scope["headers"]]
            scope = {**scope, "headers": headers}
        await app(scope, receive, send)

    return in_lower_case


def _is_wildcard(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False
