"""Times, spans and amounts as people read them. Always UTC: a page is the same for everybody who is sent it."""

from datetime import UTC, datetime
from typing import Final

from service_common.domain.money import whole_tokens
from service_common.types import Address, Bytes32
from service_common.wire.deployment import TokenDescription

_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))
MOST_SECONDS: Final = 253_402_300_799
"""The last second of the year 9999: what is later has no date."""


def moment(at: int) -> str:
    """A time as a sentence has it: ``1 January 2030, 00:00:00 UTC``."""
    if not 0 <= at <= MOST_SECONDS:
        return f"second {at:,} after 1970"
    found = datetime.fromtimestamp(at, UTC)
    return f"{found.day} {found:%B %Y, %H:%M:%S} UTC"


def day(at: int) -> str:
    """A time on a drawing: ``1 Jan 2030, 00:00``."""
    if not 0 <= at <= MOST_SECONDS:
        return "far away"
    found = datetime.fromtimestamp(at, UTC)
    return f"{found.day} {found:%b %Y, %H:%M}"


def machine_time(at: int) -> str:
    """A time as HTML, feeds and calendars read it."""
    return datetime.fromtimestamp(min(max(at, 0), MOST_SECONDS), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def span(seconds: int) -> str:
    """A length of time in its two largest units: ``3 days 4 hours``, ``45 seconds``."""
    left, found = max(0, seconds), []
    for name, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            found.append(counted(count, name))
        if found and (len(found) == 2 or name == "minute" or not count):
            break
    return " ".join(found) or counted(left, "second")


def relative(at: int, now: int) -> str:
    """A time seen from now: ``in 3 days 4 hours``, ``2 minutes ago``.

    Within a minute it does not count seconds, so that a page which nothing else changes keeps its bytes.
    """
    if abs(at - now) < 60:
        return "in less than a minute" if at > now else "less than a minute ago"
    return f"in {span(at - now)}" if at > now else f"{span(now - at)} ago"


def counted(count: int, noun: str) -> str:
    """``1 day``, ``2 days``, ``1,000 Submissions``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def amount(value: int, token: TokenDescription) -> str:
    """An amount of smallest units in whole tokens with the token's symbol: ``1,234.5 USDC``."""
    whole, point, part = whole_tokens(value, token.decimals).partition(".")
    return f"{int(whole):,}{point}{part} {token.symbol}"


def percent(basis_points: int) -> str:
    """Basis points as a percentage: ``2.5%``."""
    return f"{basis_points / 100:.2f}".rstrip("0").rstrip(".") + "%"


def share(part: int, whole: int) -> str:
    """A part of a whole as a percentage, rounded down to a tenth."""
    return f"{part * 1_000 // whole / 10:.1f}".removesuffix(".0") + "%" if whole else "0%"


def short(value: Address | Bytes32) -> str:
    """An address or hash cut for a place where its whole is a click away."""
    return f"{value[:6]}…{value[-4:]}"
