"""Times, spans and amounts as people read them. Always UTC: a page is the same for everybody who is sent it."""

from datetime import UTC, datetime
from typing import Final

from bounty_protocol.domain.money.amounts import whole_tokens
from bounty_protocol.types import Address, Bytes32
from bounty_protocol.wire.deployment import TokenDescription

_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))
MOST_SECONDS: Final = 253_402_300_799
"""The last second of the year 9999: what is later has no date."""


def moment(at: int) -> str:
    """Format a time for a sentence: ``1 January 2030, 00:00:00 UTC``."""
    if not 0 <= at <= MOST_SECONDS:
        return f"second {at:,} after 1970"
    found = datetime.fromtimestamp(at, UTC)
    return f"{found.day} {found:%B %Y, %H:%M:%S} UTC"


def day(at: int) -> str:
    """Format a short time: ``1 Jan 2030, 00:00``."""
    if not 0 <= at <= MOST_SECONDS:
        return "far away"
    found = datetime.fromtimestamp(at, UTC)
    return f"{found.day} {found:%b %Y, %H:%M}"


def machine_time(at: int) -> str:
    """Format a time as HTML and feeds read it."""
    return datetime.fromtimestamp(min(max(at, 0), MOST_SECONDS), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def span(seconds: int) -> str:
    """Format a length of time in its two largest units: ``3 days 4 hours``, ``45 seconds``."""
    left, found = max(0, seconds), []
    for name, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            found.append(counted(count, name))
        if found and (len(found) == 2 or name == "minute" or not count):
            break
    return " ".join(found) or counted(left, "second")


def relative(at: int, now: int) -> str:
    """Format a time seen from now: ``in 3 days 4 hours``, ``2 minutes ago``.

    Within a minute it does not count seconds, so that a page which nothing else changes keeps its bytes.
    """
    if abs(at - now) < 60:
        return "in less than a minute" if at > now else "less than a minute ago"
    if at > now:
        return f"in {span(at - now)}"
    return f"{span(now - at)} ago"


def counted(count: int, noun: str) -> str:
    """Format a count of a noun: ``1 day``, ``2 bounties``, ``1,000 Submissions``."""
    plural = "bounties" if noun == "bounty" else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def amount(value: int, token: TokenDescription) -> str:
    """Format an amount of smallest units in whole tokens with the token's symbol: ``1,234.5 USDC``."""
    whole, point, part = whole_tokens(value, token.decimals).partition(".")
    return f"{int(whole):,}{point}{part} {token.symbol}"


def amount_rounded(value: int, token: TokenDescription) -> str:
    """Return an amount for a list, rounded down to two decimals: ``1,234.50 USDC``."""
    whole, _, part = whole_tokens(value, token.decimals).partition(".")
    return f"{int(whole):,}.{part[:2]:0<2} {token.symbol}"


def percent(basis_points: int) -> str:
    """Format basis points as a percentage: ``2.5%``."""
    return f"{basis_points / 100:.2f}".rstrip("0").rstrip(".") + "%"


def short(value: Address | Bytes32) -> str:
    """Shorten an address or hash where the full value is one click away."""
    return f"{value[:6]}…{value[-4:]}"
