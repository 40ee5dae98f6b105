"""RFC 3339 timestamps, fast."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

_SHAPE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def parse(text: str) -> datetime:
    """The aware datetime behind an RFC 3339 date-time; ValueError for anything else."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ValueError("not an RFC 3339 timestamp")
    fraction, offset = match.groups()
    micros = int(fraction[1:7].ljust(6, "0")) if fraction else 0
    return datetime(
        int(text[:4]), int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16]), int(text[17:19]), micros,
        _zone(offset),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _zone(offset: str) -> timezone:
    if offset in "Zz":
        return UTC
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError("not an offset")
    delta = timedelta(hours=hours, minutes=minutes)
    return timezone(-delta if offset[0] == "-" else delta)
