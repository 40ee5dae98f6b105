"""When two screens state the same: moments, spans, waits, hashes, addresses, gas prices and line breaks may differ."""

import re
from typing import Final

_DIFFERS: Final = (
    (r"(?m)^(waiting|the service reads) .*$", ""),
    (r"0x[0-9a-f]+(…[0-9a-f]+)?…?", "HEX"),
    (r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?( UTC|Z)?)?", "MOMENT"),
    (r"age1[0-9a-z]+", "KEY"),
    (r"127\.0\.0\.1:\d+", "ADDRESS"),
    (r"\d+(\.\d+)? (ether|wei)\b", "PRICE"),
    (r"\b[\d,]{5,} gas\b", "GAS"),
    (r"\b[0-9a-f]{16,}\b", "HEX"),
    (r"\b1\d{9}\b", "MOMENT"),
    (r"\b\d+ (days?|d|h|min|s)\b( \d+ (d|h|min|s)\b)*", "SPAN"),
    (r"(\bblocks?|\bblock_number\"?:|\bfinalized_block\"?:|\"number\":) ?\d+", "BLOCK"),
    (r"\b\d+ logs\b", "LOGS"),
    (r"HEX, (last active SPAN ago|not active yet)", "GUARDIAN"),  # sorted by accounts, which are new in each run
    (r"\s+", " "),
)


def normalized(screen: str) -> str:
    """The text without what differs from run to run."""
    for pattern, name in _DIFFERS:
        screen = re.sub(pattern, name, screen)
    return screen.strip()
