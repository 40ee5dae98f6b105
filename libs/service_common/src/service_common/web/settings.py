"""Where a Flask service listens and under which one public host its deployment is reached.

The public host is the only source of the signed ``audience``; no request header ever changes it.
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from service_common.common_settings import read_host, read_internal_port, read_port
from service_common.config import EnvironmentReader, within

_HOST: Final = re.compile(r"([a-z0-9.\-]+|\[[0-9a-f:]+\])(:[1-9][0-9]{0,4})?")
_OWN_PORTS: Final = frozenset({":80", ":443"})
"""What a URL host leaves out: no client would sign it."""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """``public_host`` is the URL host: lowercased, with the port where it is not the scheme's default.

    ``forwarded_hops`` is how many proxies of this deployment stated who called them. The last one always sets the
    header ``Callers``: WSGI gives a name with a hyphen and the same one with an underscore one key, so that a caller
    could write the other spelling.
    """

    public_host: str
    host: str
    port: int
    internal_port: int
    forwarded_hops: int = 0


def read_web_settings(reader: EnvironmentReader) -> WebSettings:
    """Read the settings of this process; mistakes are collected by ``reader``."""
    return WebSettings(
        public_host=reader.required(
            "SERVICE_PUBLIC_HOST",
            parse_public_host,
            "the deployment's one public host, the audience of every signature",
        ),
        host=read_host(reader),
        port=read_port(reader),
        internal_port=read_internal_port(reader),
        forwarded_hops=reader.optional(
            "SERVICE_FORWARDED_HOPS",
            within(0, 9),
            0,
            "the operator's own proxies that state who calls: with compose its Caddy, in a cluster those before the "
            "pod, each adding to `X-Forwarded-For`; for budgets only. Requests of which they state no caller share "
            "one budget",
        ),
    )


def client_address(peer: str, callers: str, hops: int) -> str | None:
    """Return the caller's address: the peer, or what the outermost of our own proxies saw; what the caller wrote never
    counts.

    None if those proxies did not state it.
    """
    if hops == 0:
        return peer
    named = [part.strip() for part in callers.split(",")] if callers else []
    return named[-hops] if hops <= len(named) else None


def parse_public_host(text: str) -> str:
    """Parse a URL host such as ``bounties.example`` or ``127.0.0.1:8080``."""
    found = _HOST.fullmatch(text)
    if found is None or found[2] in _OWN_PORTS:
        raise ValueError("a host in lower case, with a port where it is not the default; no scheme and no path")
    return text


def parse_origin(text: str) -> str:
    """Parse an origin such as ``http://delivery:8080``, without a path."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError("an origin: http or https, a host, optionally a port, and no path")
    return text.rstrip("/")
