"""Times, spans and amounts as people read them. Always UTC: a page is the same for everybody who is sent it.

The names of months and units are in the catalogue; digits, their grouping and the clock are the same in every language.
"""

from datetime import UTC, datetime
from typing import Final

from bounty_protocol.domain.money.amounts import whole_tokens
from bounty_protocol.types import Address, Bytes32
from bounty_protocol.wire.deployment import TokenDescription

from service_api.pages.texts import gettext, marked, marked_plural, ngettext

_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))
_NOUNS: Final = {
    "day": marked_plural("%(count)s day", "%(count)s days"),
    "hour": marked_plural("%(count)s hour", "%(count)s hours"),
    "minute": marked_plural("%(count)s minute", "%(count)s minutes"),
    "second": marked_plural("%(count)s second", "%(count)s seconds"),
    "byte": marked_plural("%(count)s byte", "%(count)s bytes"),
    "block": marked_plural("%(count)s block", "%(count)s blocks"),
    "bounty": marked_plural("%(count)s bounty", "%(count)s bounties"),
    "Submission": marked_plural("%(count)s Submission", "%(count)s Submissions"),
}
"""Units that pages count."""
_MONTHS: Final = (
    *(marked("January"), marked("February"), marked("March"), marked("April"), marked("May"), marked("June")),
    *(marked("July"), marked("August"), marked("September"), marked("October"), marked("November"), marked("December")),
)
_SHORT_MONTHS: Final = (
    *(marked("Jan"), marked("Feb"), marked("Mar"), marked("Apr"), marked("May"), marked("Jun")),
    *(marked("Jul"), marked("Aug"), marked("Sep"), marked("Oct"), marked("Nov"), marked("Dec")),
)
MOST_SECONDS: Final = 253_402_300_799
"""The last second of the year 9999: what is later has no date."""


def moment(at: int) -> str:
    """Format a time for a sentence: ``1 January 2030, 00:00:00 UTC``."""
    if not 0 <= at <= MOST_SECONDS:
        return gettext("second %(number)s after 1970", number=f"{at:,}")
    found = datetime.fromtimestamp(at, UTC)
    return gettext(
        "%(day)s %(month)s %(year)s, %(time)s UTC",
        day=found.day,
        month=gettext(_MONTHS[found.month - 1]),
        year=found.year,
        time=f"{found:%H:%M:%S}",
    )


def day(at: int) -> str:
    """Format a short time: ``1 Jan 2030, 00:00``."""
    if not 0 <= at <= MOST_SECONDS:
        return gettext("far away")
    found = datetime.fromtimestamp(at, UTC)
    return gettext(
        "%(day)s %(month)s %(year)s, %(time)s",
        day=found.day,
        month=gettext(_SHORT_MONTHS[found.month - 1]),
        year=found.year,
        time=f"{found:%H:%M}",
    )


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
        return gettext("in less than a minute") if at > now else gettext("less than a minute ago")
    if at > now:
        return gettext("in %(span)s", span=span(at - now))
    return gettext("%(span)s ago", span=span(now - at))


def counted(count: int, noun: str) -> str:
    """Format a count of a noun from ``_NOUNS``: ``1 day``, ``2 days``, ``1,000 Submissions``."""
    return ngettext(*_NOUNS[noun], count, count=f"{count:,}")


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
