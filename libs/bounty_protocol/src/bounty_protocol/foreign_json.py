"""JSON that somebody else wrote, read into no more memory than a caller that trusts nobody wants to lose to it.

A list of empty lists takes thirty times the memory of its text. Every value but the first follows a comma or a bracket,
so counting those bounds how many values a text can have before any of them is made. A text that is nested as deeply as
the interpreter's stack is refused before it is read, too: whatever is finalized at that depth fails and is lost.
"""

import json
import re
from itertools import accumulate
from typing import Any, Final

MOST_VALUES: Final = 1 << 17
"""Five times what the longest honest answers have; together at most some 35 MB beside their text."""
MOST_NESTED: Final = 64
"""Six times what the deepest honest answers have."""

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_BUT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")


class TooManyValues(ValueError):
    """A text that is not read, since it may have too many values."""


def read_json(text: bytes, most_values: int = MOST_VALUES) -> object:
    """Parse a JSON text in UTF-8; ``ValueError`` if it is malformed or has too many values or levels.

    Brackets and commas within strings also count as values.
    """
    if sum(map(text.count, (b",", b"[", b"{"))) > most_values:
        raise TooManyValues(f"more than {most_values} values")
    refuse_nesting(text)
    return json.loads(text.decode("utf-8", "surrogatepass"))


def refuse_nesting(text: bytes) -> None:
    """Raise ``ValueError`` for a JSON text of more than ``MOST_NESTED`` levels; a malformed one may pass."""
    if text.count(b"[") + text.count(b"{") <= MOST_NESTED:
        return
    steps = _STRING.sub(b"", text).translate(_STEPS, _BUT_BRACKETS)
    if max(accumulate(memoryview(steps).cast("b")), default=0) > MOST_NESTED:
        raise ValueError(f"more than {MOST_NESTED} levels")


def read_object(text: bytes, *, with_half_pairs: bool = False) -> dict[str, Any]:
    """Parse a JSON object, each of whose texts is UTF-8; ``ValueError`` for anything else.

    ``with_half_pairs`` accepts halves of surrogate pairs, for a reader that can show them.
    """
    value = read_json(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    may_have_half = not text.isascii() or b"\\u" in text or b"\0" in text
    if may_have_half and not with_half_pairs:
        json.dumps(value, ensure_ascii=False).encode()
    return value
