"""The place in the bounty list after which a page starts."""

import base64
import json
from dataclasses import dataclass
from typing import Final

_MAX_TEXT: Final = 64


@dataclass(frozen=True, slots=True)
class Cursor:
    """The group (0 open, 1 final) and the id of the last item that was shown."""

    group: int
    bounty_id: int

    def to_text(self) -> str:
        """As ``next_cursor``."""
        return base64.urlsafe_b64encode(json.dumps([self.group, self.bounty_id]).encode()).decode().rstrip("=")


def parse_cursor(text: str) -> Cursor:
    """Read a ``next_cursor``: exactly a text that ``to_text`` writes, of which each place has one."""
    try:
        group, bounty_id = json.loads(base64.urlsafe_b64decode(text[:_MAX_TEXT] + "=" * (-len(text) % 4)))
        cursor = Cursor(group, bounty_id)
    except (ValueError, TypeError):
        raise _malformed() from None
    if (type(group), type(bounty_id)) != (int, int) or cursor.to_text() != text:
        raise _malformed()
    if group not in (0, 1) or not 0 < bounty_id < 2**63:
        raise _malformed()
    return cursor


def _malformed() -> ValueError:
    return ValueError("not a next_cursor of this list; start again without it")
