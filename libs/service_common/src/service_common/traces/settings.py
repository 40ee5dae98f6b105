"""Where traces go: ``SERVICE_OTLP_ENDPOINT``, ``SERVICE_TRACE_RATIO``.

Without an endpoint there are no traces. An endpoint's address may hold a secret and is never shown.
"""

from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from service_common.config import EnvironmentReader

_PATH: Final = "/v1/traces"
_ADDRESS: Final = "an address of http or https with a host; without a path, /v1/traces of it is used"


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """``endpoint`` takes OTLP over HTTP, None: no traces. ``ratio`` of the traces that start here are kept."""

    endpoint: str | None = field(default=None, repr=False)
    ratio: float = 1.0


def read_trace_settings(reader: EnvironmentReader) -> TraceSettings:
    """The settings of this process; mistakes are collected by ``reader``."""
    return TraceSettings(
        endpoint=reader.optional(
            "SERVICE_OTLP_ENDPOINT",
            parse_endpoint,
            None,
            "where OTLP over HTTP is taken; an origin, or an address with its path; it may hold credentials",
            shown="none: no traces",
        ),
        ratio=reader.optional(
            "SERVICE_TRACE_RATIO",
            parse_ratio,
            1.0,
            "the part of the traces that begin here which is kept, from 0 to 1; a caller's own decision is kept",
            shown="1",
        ),
    )


def parse_endpoint(text: str) -> str | None:
    """The whole address that spans are sent to."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or 1)
    except ValueError:
        raise ValueError(_ADDRESS) from None  # the library's own message quotes the address
    if not usable or parts.fragment or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError(_ADDRESS)
    return parts._replace(path=_PATH).geturl() if parts.path in {"", "/"} else text


def parse_ratio(text: str) -> float:
    """A part of a whole."""
    try:
        ratio = float(text)
    except ValueError:
        raise ValueError("a number from 0 to 1") from None
    if not 0 <= ratio <= 1:
        raise ValueError("a number from 0 to 1")
    return ratio
