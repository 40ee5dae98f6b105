"""docs/chain-halts.md: for how long a chain may stand still, and a forced call take."""

from collections.abc import Iterator
from typing import Final

from bounty_protocol.domain.halts import (
    BASE_OUTAGE_SECONDS,
    LONGEST_INCLUSION_SECONDS,
    SEQUENCER_WINDOW_SECONDS,
    STANDS_STILL_SECONDS,
)

from tools.generate.derived import part, table
from tools.generate.networks import time_of

_ROWS: Final = (
    ("the longest that Base made no block", BASE_OUTAGE_SECONDS),
    ("a chain stands still when its newest block is older than", STANDS_STILL_SECONDS),
    ("a sequencer can hold a forced call back for", SEQUENCER_WINDOW_SECONDS),
    ("a forced call that is sent within an hour counts at the latest after", LONGEST_INCLUSION_SECONDS),
)


def _table() -> Iterator[str]:
    yield table("| figure | |", (f"| {what} | {time_of(seconds)} |" for what, seconds in _ROWS))


HALTS: Final = part("docs/chain-halts.md", "halts", _table)
