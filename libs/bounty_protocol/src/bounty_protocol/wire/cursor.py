"""The place in the bounty list after which a page starts."""

import base64
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.types import MAX_INT64, MAX_UINT256

_MAX_TEXT: Final = 200


class BountySort(StrEnum):
    """Orders of the bounty list."""

    NEWEST = "newest"
    DEADLINE = "deadline"
    AWARD = "award"


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last item that was shown: its id, and what it is sorted by.

    ``key`` is its group (0 open, 1 final), its submission deadline or its award.
    """

    sort: BountySort
    key: int
    bounty_id: int

    def to_text(self) -> str:
        """Return the text of ``next_cursor``."""
        place = [self.key, self.bounty_id]
        whole = place if self.sort is BountySort.NEWEST else [self.sort.value, *place]
        return base64.urlsafe_b64encode(json.dumps(whole).encode()).decode().rstrip("=")


def parse_cursor(text: str) -> Cursor:
    """Read a ``next_cursor``: exactly a text that ``to_text`` writes; each place has only one."""
    try:
        read = json.loads(base64.urlsafe_b64decode(text[:_MAX_TEXT] + "=" * (-len(text) % 4)))
        sort, place = ("newest", read) if type(read[0]) is int else (read[0], read[1:])
        key, bounty_id = place
        cursor = Cursor(BountySort(sort), key, bounty_id)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise _malformed() from None
    if {type(each) for each in place} != {int} or cursor.to_text() != text:
        raise _malformed()
    most = 1 if cursor.sort is BountySort.NEWEST else MAX_UINT256
    if not 0 <= key <= most or not 0 < bounty_id <= MAX_INT64:
        raise _malformed()
    return cursor


def _malformed() -> ValueError:
    return ValueError("not a next_cursor of this list; start again without it")
