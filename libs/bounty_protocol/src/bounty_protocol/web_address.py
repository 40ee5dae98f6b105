"""Addresses of endpoints as people give them; each parser raises ``ValueError`` with what the text is not."""

import re
from typing import Final
from urllib.parse import urlsplit

_HOST: Final = re.compile(r"[\w.:%-]+")
_PORTS: Final = {"http": 80, "https": 443}


def parse_url(text: str) -> str:
    """Parse an http or https address."""
    try:
        parts = urlsplit(text)
        named = _HOST.fullmatch(parts.hostname or "") is not None and re.search(r"\s", text) is None
        good = parts.scheme in _PORTS and named and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError("not an http or https address")
    return text


def parse_base_url(text: str) -> str:
    """Parse an API's base address: a scheme, a host and optionally a path, below which every route lies."""
    parts = urlsplit(parse_url(text))
    if parts.query or parts.fragment or parts.username or not text.isascii() or not text.isprintable():
        raise ValueError("not a base address: a scheme, a host and optionally a path")
    return text.rstrip("/")


def parse_urls(text: str) -> tuple[str, ...]:
    """Parse several addresses, separated by commas; at least one."""
    found = tuple(parse_url(url.strip()) for url in text.split(",") if url.strip())
    if not found:
        raise ValueError("no address")
    return found


def place_of(url: str) -> tuple[object, ...]:
    """Return what all spellings of an address share: endpoints that are compared must differ in it."""
    parts = urlsplit(url)
    port = parts.port or _PORTS[parts.scheme]
    return parts.scheme, parts.username, parts.password, parts.hostname, port, parts.path.rstrip("/"), parts.query
