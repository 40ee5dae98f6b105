"""Facts in the text for people beside an event's own fields: moments and amounts as people read them, and more facts.

Events are for programs and hold what they need, in seconds and smallest units. A moment is UTC with how far away it is;
an amount is exact, in whole tokens and in base units. A sentence for people also has the token's name, how long there
is still time, and what a transaction cost: a command passes a function that finds it out, which is called in text mode
only. What is not known is None, and the text leaves it out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from bounty_protocol.domain.money import whole_tokens

if TYPE_CHECKING:
    from bounty_protocol.domain.hub_events import BountyTerms
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


CLOCK_SECONDS: Final = 600
"""How far this machine's clock may be off before it is named beside the times that it makes wrong."""


DATE_SECONDS: Final = 30
"""The same beside a clock that is no block's: an answer's ``Date`` lags by no more than the answer took."""


def clock_off(time_there: int, now: int, whose: str, most: int = CLOCK_SECONDS) -> str | None:
    """A sentence where this machine's clock and another one are further apart than ``most`` seconds; else None."""
    if abs(now - time_there) <= most:
        return None
    direction = "behind" if now < time_there else "ahead of"
    return f"this machine's clock is {duration(abs(now - time_there))} {direction} {whose}"


def amount(value: int, token: Token) -> str:
    """``25 USDC (25000000 base units)``."""
    return f"{whole_tokens(value, token.decimals)} {printable(token.symbol)} ({value} base units)"


def wei(value: int) -> str:
    """``0.000000001 ether (1000000000 wei)``."""
    return f"{whole_tokens(value, 18)} ether ({value} wei)"


_ETHER_DIGITS: Final = 6


def ether(value: int) -> str:
    """``0.000123 ether``, rounded up."""
    unit = 10 ** (18 - _ETHER_DIGITS)
    whole, point, part = whole_tokens(-(-value // unit), _ETHER_DIGITS).partition(".")
    return f"{int(whole):,}{point}{part} ether"


def printable(value: object, length: int = 20) -> str:
    """Untrusted text for a terminal: bounded, on one line, and nothing that drives it or hides in it."""
    text = "".join(" " if c.isspace() else c for c in str(value)[:length])
    if text.isascii():
        return text if text.isprintable() else "".join(c for c in text if c.isprintable())
    from bounty_protocol.domain.readable import readable  # with tables that ASCII does without

    return "".join(c for c in readable(text) if c.isprintable())


def withheld_text(found: "Withheld") -> str:
    """That the service's operator does not show a text, since when and why."""
    until = "" if found.until is None else f" until {_minute(found.until)}"
    return f"withheld by the service's operator since {_minute(found.since)}{until}: {printable(found.reason, 500)}"


def _minute(at: int) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"{at} seconds after 1970"


@dataclass(frozen=True, slots=True)
class BountyEnd:
    """The end of a bounty on the chain."""

    is_awarded: bool
    reason: str | None


@dataclass(frozen=True, slots=True)
class About:
    """Everything that the text of an event may need."""

    token: Token | None = None
    """The escrow token, for amounts."""
    now: int | None = None
    """The chain's time; else this machine's."""
    terms: "BountyTerms | None" = None
    """Of the bounty that the event is about."""
    gas_cost: int | None = None
    """Wei that the event's transaction cost its sender."""
    happened_at: int | None = None
    """The time of the block that the event is about."""
    path: str | None = None
    """The page or directory that the command was given."""
    ended: "BountyEnd | None" = None
    """How the bounty of the event ended; None while it is open."""
    paid: bool = False
    """Whether the award, or without a winner the refund, was claimed."""
    summary: str | None = None
    """The command's findings, in sentences of its own."""


FindAbout = Callable[[], About]
NOTHING = About()
