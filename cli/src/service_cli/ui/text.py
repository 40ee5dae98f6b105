"""Values as people read them: moments, durations, amounts, sizes, and untrusted text that drives no terminal."""

import shlex
import unicodedata
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from bounty_protocol.domain.money.amounts import whole_tokens

if TYPE_CHECKING:
    from bounty_protocol.wire.withheld import Withheld


class Token(Protocol):
    """A token's own symbol."""

    @property
    def symbol(self) -> str:
        """Its short name."""

    @property
    def decimals(self) -> int:
        """How many digits of an amount are after the point."""


def moment(at: int, now: int) -> str:
    """Format ``2026-01-02 03:04:05 UTC (in 37 s)``, or ``(37 s ago)``."""
    try:
        text = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):  # a deadline that no calendar holds
        return f"{at} seconds after 1970"
    return f"{text} ({relative(at, now)})"


def relative(at: int, now: int) -> str:
    """Format ``in 37 s``, ``now``, ``2 h 5 min ago``."""
    return "now" if at == now else f"in {duration(at - now)}" if at > now else f"{duration(now - at)} ago"


def duration(seconds: int) -> str:
    """Format the two largest units: ``37 s``, ``2 h 5 min``, ``3 d``."""
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        count, seconds = divmod(seconds, size)
        if count or (not parts and unit == "s"):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


CLOCK_SECONDS: Final = 600
"""How far this machine's clock may be off before it is named beside the times that it makes wrong."""


def clock_off(time_there: int, now: int, whose: str) -> str | None:
    """Say that this machine's clock and another one are far apart; None if they are not."""
    if abs(now - time_there) <= CLOCK_SECONDS:
        return None
    direction = "behind" if now < time_there else "ahead of"
    return f"this machine's clock is {duration(abs(now - time_there))} {direction} {whose}"


def tokens(value: int, token: Token | None) -> str:
    """Format ``1,234.5 USDC``; in base units for an unknown token."""
    if token is None or not 0 < token.decimals <= 77:
        return f"{value:,} base units"
    whole, point, part = whole_tokens(value, token.decimals).partition(".")
    # A name that is read from right to left could turn the numbers beside it around.
    symbol = "".join(c for c in printable(token.symbol) if unicodedata.bidirectional(c) not in {"R", "AL", "AN"})
    return f"{int(whole):,}{point}{part} {symbol}"


def size(count: int) -> str:
    """Format ``12 bytes``, ``3.4 kB``: units of a thousand, as everywhere in this client."""
    if count < 1_000:
        return f"{count} byte{'' if count == 1 else 's'}"
    value = float(count)
    for unit in ("kB", "MB"):
        value /= 1_000
        if value < 999.95:
            return f"{value:.1f} {unit}"
    return f"{value / 1_000:.1f} GB"


def wei(value: int) -> str:
    """Format ``0.000000001 ether (1000000000 wei)``."""
    return f"{whole_tokens(value, 18)} ether ({value} wei)"


_ETHER_DIGITS: Final = 6


def ether(value: int) -> str:
    """Format ``0.000123 ether``, rounded up."""
    unit = 10 ** (18 - _ETHER_DIGITS)
    whole, point, part = whole_tokens(-(-value // unit), _ETHER_DIGITS).partition(".")
    return f"{int(whole):,}{point}{part} ether"


def short(value: str) -> str:
    """Cut an address or a hash for a table, ``0x1234…abcd``; return any other text unchanged."""
    return f"{value[:6]}…{value[-4:]}" if value.startswith("0x") and len(value) > 20 else value


def counted(count: int, noun: str) -> str:
    """Format ``1 file``, ``2 files``, ``1,000 Submissions``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def argument(path: str | None, instead: str) -> str:
    """Quote a path as a shell takes it; use its name in the usage if it is unknown, was stdin, or would not print."""
    if path is None or path == "-" or printable(path, len(path) + 1) != path:
        return instead
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def printable(value: object, length: int = 20) -> str:
    """Make untrusted text safe for a terminal: bounded, on one line, without control or hidden characters."""
    text = "".join(" " if c.isspace() else c for c in str(value)[:length])
    if text.isascii():
        return text if text.isprintable() else "".join(c for c in text if c.isprintable())
    from bounty_protocol.domain.challenge.readable import readable  # with tables that ASCII does without

    return "".join(c for c in readable(text) if c.isprintable())


def withheld_text(found: "Withheld") -> str:
    """Say that the service's operator does not show a text, since when and why."""
    until = "" if found.until is None else f" until {_minute(found.until)}"
    return f"withheld by the service's operator since {_minute(found.since)}{until}: {printable(found.reason, 500)}"


def _minute(at: int) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"{at} seconds after 1970"
