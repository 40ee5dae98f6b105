"""JSON that somebody else wrote, read into no more memory than a caller that trusts nobody wants to lose to it.

A list of empty lists takes thirty times the memory of its text. Every value but the first follows a comma or a bracket,
so counting those bounds how many values a text can have before any of them is made.
"""

import json
from typing import Any, Final

MOST_VALUES: Final = 1 << 17
"""Five times what the longest honest answers have; together at most some 35 MB beside their text."""


class TooManyValues(ValueError):
    """A text that is not read, since it may have too many values."""


def read_json(text: bytes, most_values: int = MOST_VALUES) -> object:
    """The value of a JSON text; raises ``ValueError``, or ``RecursionError`` where it is nested too deeply.

    Brackets and commas within strings count, too.
    """
    if sum(map(text.count, (b",", b"[", b"{"))) > most_values:
        raise TooManyValues(f"more than {most_values} values")
    return json.loads(text)


def read_object(text: bytes, *, with_half_pairs: bool = False) -> dict[str, Any]:
    """The same for a JSON object, each of whose texts is UTF-8; raises ``ValueError`` for anything else.

    ``with_half_pairs`` lets halves of surrogate pairs through, for a reader that shows them as what they are.
    """
    value = read_json(text)
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    may_have_half = not text.isascii() or b"\\u" in text or b"\0" in text
    if may_have_half and not with_half_pairs:
        json.dumps(value, ensure_ascii=False).encode()
    return value
