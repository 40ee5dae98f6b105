"""The reading tools over streamable HTTP, as the SDK serves them: stateless, without keys, for assistants given a URL.

There is no login, since nothing there is anybody's. A request has to name a Host that is permitted, so that a page in
somebody's browser cannot reach the server by another name. Sizes, rates and slow callers are the proxy's before it.
"""

import re
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Final

import click
from mcp.server.transport_security import TransportSecuritySettings

from service_mcp.reading import Limits
from service_mcp.server import Options, make_server

OF_STRANGERS: Final = Limits(at_once=2, most_bounties=25)


def serve(options: Options, address: str, hosts: Sequence[str]) -> None:
    """Serve the tools of these options until SIGTERM; refuse at once if nobody could name the server."""
    host, _, port = address.rpartition(":")
    if not host or re.fullmatch("[0-9]{1,5}", port) is None or not 0 < int(port) < 65_536:
        raise click.BadParameter("it is HOST:PORT, the port 1 to 65535.", param_hint="--http")
    if not hosts and _is_wildcard(host):
        raise click.UsageError(
            "--http with an address of every interface takes --allow-host: the name that callers use."
        )
    named = [each.lower() for each in hosts or (host,)]
    make_server(options).run(
        "streamable-http",
        host=host.strip("[]"),
        port=int(port),
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[each for name in named for each in (name, f"{name}:*")],
            allowed_origins=[f"https://{name}" for name in named],
        ),
    )


def _is_wildcard(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return False
