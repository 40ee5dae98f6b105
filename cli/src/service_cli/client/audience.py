"""The host of an address as signatures name it."""

from typing import Final
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def audience_of(url: str) -> str:
    """The URL's host, lowercased, with the port where it is not the scheme's default."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    return host if parts.port in {None, _DEFAULT_PORTS[parts.scheme]} else f"{host}:{parts.port}"
