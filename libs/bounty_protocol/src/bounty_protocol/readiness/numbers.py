"""Numbers, durations and dates as people write them."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from bounty_protocol.readiness.patterns import Pattern, as_read

_WORDS: Final = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SECONDS: Final = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800, "month": 2_592_000}

QUANTITY: Final = rf"(?:\d{{1,4}}|an?|{'|'.join(_WORDS)})"
UNIT: Final = r"(?:minutes?|hours?|days?|weeks?|months?)"
DURATION: Final = rf"\b({QUANTITY})[ -](?:calendar |full |whole |working )?({UNIT})\b"
"""Its two groups are what ``seconds_of`` takes."""

_MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DECIMAL: Final = Pattern(r"\d{1,40}(?:[,_ ]\d{3})*(?:\.\d{1,40})?")
_WITHOUT_GROUPING: Final = str.maketrans("", "", ",_ ")
_DATES: Final = tuple(
    Pattern(pattern)
    for pattern in (
        r"\b(?P<year>20\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},? (?P<year>20\d\d)\b",
        rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>20\d\d)\b",
        r"\b(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>20\d\d)\b",
        r"\b(?P<day>1[3-9]|2\d|3[01])/(?P<month>\d{1,2})/(?P<year>20\d\d)\b",
        r"\b(?P<month>\d{1,2})/(?P<day>1[3-9]|2\d|3[01])/(?P<year>20\d\d)\b",
    )
)


def has_digit(text: str) -> bool:
    """Return whether anything in it is read as a digit."""
    return any(map(str.isdigit, as_read(text)))


def seconds_of(quantity: str, unit: str) -> int:
    """Return the length of a stated duration; a month has thirty days."""
    words = quantity.lower()
    count = int(words) if words.isdigit() else 1 if words in {"a", "an"} else _WORDS.index(words)
    return count * _SECONDS[unit.lower().rstrip("s")]


def dates_in(text: str) -> Iterator[date]:
    """Yield the days that a sentence names with their year; not 5/6/2030, whose month is ambiguous."""
    for pattern in _DATES if "20" in as_read(text) else ():
        for found in pattern.each(text):
            try:
                yield date(int(found["year"]), _month_of(found["month"]), int(found["day"]))
            except ValueError:
                continue


def _month_of(text: str) -> int:
    return int(text) if text.isdigit() else _MONTHS.index(text.lower()[:3]) + 1


def day_of(moment: int) -> date | None:
    """Return the UTC day of a chain time, if a calendar holds it."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment)).date()
    except OverflowError:
        return None


def decimal_of(text: str, suffix: str | None = None) -> Decimal | None:
    """Parse ``1,500``, ``1 500``, ``1_500``, ``0.5``, ``2`` with ``k`` to a number; None for anything else."""
    if not _DECIMAL.is_all_of(text):
        return None
    return Decimal(text.translate(_WITHOUT_GROUPING)) * (1_000 if suffix and suffix.lower() == "k" else 1)
