"""JSON that somebody else wrote, read into no more memory than a caller that trusts nobody wants to lose to it.

A list of empty lists takes thirty times the memory of its text. Every value but the first follows a comma or a bracket,
so counting those bounds how many values a text can have before any of them is made.
"""

import json
from typing import Final

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
