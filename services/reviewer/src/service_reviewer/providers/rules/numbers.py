"""Numbers, durations and dates as people write them."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

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
_DATES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?P<year>20\d\d)-(?P<number>\d\d)-(?P<day>\d\d)\b",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?{_MONTH},? (?P<year>20\d\d)\b",
        rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>20\d\d)\b",
        r"\b(?P<day>\d{1,2})\.(?P<number>\d{1,2})\.(?P<year>20\d\d)\b",
        r"\b(?P<day>1[3-9]|2\d|3[01])/(?P<number>\d{1,2})/(?P<year>20\d\d)\b",
        r"\b(?P<number>\d{1,2})/(?P<day>1[3-9]|2\d|3[01])/(?P<year>20\d\d)\b",
    )
)


def seconds_of(quantity: str, unit: str) -> int:
    """The length of a stated duration; a month has thirty days."""
    words = quantity.lower()
    count = int(words) if words.isdigit() else 1 if words in {"a", "an"} else _WORDS.index(words)
    return count * _SECONDS[unit.lower().rstrip("s")]


def dates_in(text: str) -> Iterator[date]:
    """The days that a sentence names with their year; of 5/6/2030 nobody knows which is the month."""
    for pattern in _DATES if "20" in text else ():
        for found in pattern.finditer(text):
            parts = found.groupdict()
            month = parts.get("number") or _MONTHS.index(parts["month"].lower()[:3]) + 1
            try:
                yield date(int(parts["year"]), int(month), int(parts["day"]))
            except ValueError:
                continue


def day_of(moment: int) -> date | None:
    """The UTC day of a chain time, if a calendar holds it."""
    try:
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment)).date()
    except OverflowError:
        return None


def decimal_of(text: str, suffix: str | None = None) -> Decimal | None:
    """``1,500``, ``1 500``, ``1_500``, ``0.5``, ``2`` with ``k`` as a number; None for what is none."""
    digits = re.sub(r"(?<=\d)[,_ ](?=\d{3}\b)", "", text.strip())
    if re.fullmatch(r"\d+(\.\d+)?", digits) is None:
        return None
    return Decimal(digits) * (1_000 if suffix and suffix.lower() == "k" else 1)
