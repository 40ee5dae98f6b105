"""Addresses of endpoints as people give them; each parser raises ``ValueError`` with what the text is not."""

from urllib.parse import urlsplit


def parse_url(text: str) -> str:
    """An http or https address."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError("not an http or https address")
    return text


def parse_base_url(text: str) -> str:
    """An API's base address: a scheme, a host and perhaps a path, below which every route is."""
    parts = urlsplit(parse_url(text))
    if parts.query or parts.fragment or parts.username or not text.isascii() or not text.isprintable():
        raise ValueError("not a base address: a scheme, a host and perhaps a path")
    return text.rstrip("/")


def parse_urls(text: str) -> tuple[str, ...]:
    """Several, separated by commas."""
    return tuple(parse_url(url.strip()) for url in text.split(",") if url.strip())
