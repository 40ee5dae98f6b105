"""Amounts, moments and spans as people write them: ``25 USDC``, ``2027-01-31``, ``3 days``.

For options and templates, where what was understood is shown at once. A page is never read by these: its exact bytes
are committed, so a page with such a value is refused, and the refusal names the line to write.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from bounty_protocol.errors import requirement
from bounty_protocol.types import MAX_INT64, MAX_UINT256, TokenAmount, UnixSeconds

T = TypeVar("T")
DECIMALS: Final = {"usdc": 6, "tusdc": 6}
"""Tokens that are known by name."""
_AMOUNT: Final = re.compile(r"([0-9]{1,60})(?:\.([0-9]{1,30}))? ?([A-Za-z]{2,10})?")
_SPAN: Final = re.compile(r"([0-9]{1,9}) ?([A-Za-z]{1,7})")
_UNITS: Final = {
    "second": 1, "sec": 1, "s": 1, "minute": 60, "min": 60, "hour": 3_600, "h": 3_600, "day": 86_400, "d": 86_400,
    "week": 604_800, "w": 604_800,
}  # fmt: skip
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z| ?UTC|[+-]\d\d:\d\d))?", re.ASCII)
_SECONDS: Final = re.compile(r"[1-9][0-9]{0,18}")


def read_amount(text: str, decimals: int = 6) -> TokenAmount:
    """Parse whole tokens (``25 USDC``, ``25.00``) to smallest units; refuse a bare whole number, which
    could be either.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError("an amount such as 25 USDC or 25.00")
    whole, fraction, name = match[1], match[2] or "", match[3]
    if name is not None and name.lower() not in DECIMALS:
        raise ValueError(
            "an amount of USDC, such as 25 USDC; of another token, whole tokens with a point, such as 25.00"
        )
    if name is None and match[2] is None:
        raise ValueError("an amount with its unit, such as 25 USDC or 25.00: a bare number could be smallest units")
    places = decimals if name is None else DECIMALS[name.lower()]
    if len(fraction.rstrip("0")) > places:
        raise ValueError(f"an amount with at most {places} digits after the point")
    value = int(whole) * 10**places + int(fraction[:places].ljust(places, "0") or "0")
    if not 0 < value <= MAX_UINT256:
        raise ValueError("an amount above zero")
    return TokenAmount(value)


def named_token(text: str) -> str | None:
    """Return the name beside an amount, as it was written; None for ``25.00``."""
    match = _AMOUNT.fullmatch(text.strip())
    return None if match is None else match[3]


def read_span(text: str) -> int:
    """Parse ``3 days``, ``72 h``, or a whole number of seconds."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return _within(int(text))
    match = _SPAN.fullmatch(text)
    unit = None if match is None else _UNITS.get(match[2].lower().removesuffix("s")) or _UNITS.get(match[2].lower())
    if match is None or unit is None or int(match[1]) == 0:
        raise ValueError(f"a time such as 3 days, 72 hours or 90 minutes{_month_or_minute(match)}")
    return _within(int(match[1]) * unit)


def read_moment(text: str, now: int | None = None) -> UnixSeconds:
    """Parse ``2027-01-31`` (its last second, UTC), ``2027-01-31T18:00Z``, seconds since 1970, and with ``now`` ``3
    days``.
    """
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return UnixSeconds(_within(int(text)))
    if _MOMENT.fullmatch(text):
        try:
            day = len(text) == len("2027-01-31")
            found = datetime.fromisoformat(re.sub(" ?UTC$", "Z", text))
            found = found.replace(tzinfo=UTC) + timedelta(days=1, seconds=-1) if day else found
            return UnixSeconds(_within(int(found.timestamp())))
        except (ValueError, OverflowError):
            raise ValueError("a date that exists, such as 2027-01-31") from None
    if now is not None:
        try:
            return UnixSeconds(_within(now + read_span(text)))
        except ValueError:
            pass
    relative = ", 3 days, 12 hours or 90 minutes" if now is not None else ""
    doubt = _month_or_minute(_SPAN.fullmatch(text)) if now is not None else ""
    raise ValueError(f"a moment such as 2027-01-31, 2027-01-31T18:00Z{relative}{doubt}")


def _month_or_minute(match: "re.Match[str] | None") -> str:
    """Say what the refused ``5m`` may have meant."""
    if match is None or match[2] != "m":
        return ""
    return f"; m could be minutes or months: write {match[1]} minutes"


def strictly(name: str, parse: Callable[[str], T], read: Callable[[str], int]) -> Callable[[str], T]:
    """Wrap ``parse``: if it refuses what ``read`` understands, the refusal names the line to write instead."""

    def strict(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            try:
                line = f"{name}: {read(text)}"
            except ValueError:
                raise error from None
            raise ValueError(f"{requirement(str(error))}; if you meant this, write: {line}") from None

    return strict


def _within(seconds: int) -> int:
    if not 0 < seconds <= MAX_INT64:
        raise ValueError("a time that a clock can show")
    return seconds
