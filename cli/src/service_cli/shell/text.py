"""Moments and amounts as people read them; what events carry stays in seconds and smallest units.

A moment is UTC with how far away it is; an amount is exact, in whole tokens and in base units.
"""

from datetime import UTC, datetime
from typing import Protocol

from service_common.domain.money import whole_tokens


class Token(Protocol):
    """What a token calls itself."""

    @property
    def symbol(self) -> str:
        """Its short name."""

    @property
    def decimals(self) -> int:
        """How many digits of an amount are after the point."""


def moment(at: int, now: int) -> str:
    """``2026-01-02 03:04:05 UTC (in 37 s)``, or ``(37 s ago)``."""
    try:
        text = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):  # a deadline that no calendar holds
        return f"{at} seconds after 1970"
    return f"{text} ({relative(at, now)})"


def relative(at: int, now: int) -> str:
    """``in 37 s``, ``now``, ``2 h 5 min ago``."""
    return "now" if at == now else f"in {duration(at - now)}" if at > now else f"{duration(now - at)} ago"


def duration(seconds: int) -> str:
    """The two largest units: ``37 s``, ``2 h 5 min``, ``3 d``."""
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, seconds = divmod(seconds, size)
        if count or (not parts and unit == "s"):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def amount(value: int, token: Token) -> str:
    """``25 USDC (25000000 base units)``."""
    return f"{whole_tokens(value, token.decimals)} {printable(token.symbol)} ({value} base units)"


def wei(value: int) -> str:
    """``0.000000001 ether (1000000000 wei)``."""
    return f"{whole_tokens(value, 18)} ether ({value} wei)"


def printable(value: object, length: int = 20) -> str:
    """What somebody else chose, for a terminal: bounded, on one line, and without what would drive it."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in str(value)[:length])
