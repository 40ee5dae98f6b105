"""An event's fields, read for its text: every text is made safe for a terminal where it is read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from service_cli.shell.text import printable

_MARKS: Final = re.compile(
    "([\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{3})"
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+"
)
"""More marks on one letter than any language has: they draw over the lines around them."""
_MOST: Final = 300


def safe(value: object, length: int = _MOST) -> str:
    """What somebody else chose: on one line, without what drives a terminal, reorders text or draws over others."""
    return _MARKS.sub(r"\1", printable(value, length))


def short(value: str) -> str:
    """An address or a hash cut for a table: ``0x1234…abcd``."""
    return value if len(value) < 15 else f"{value[:6]}…{value[-4:]}"


def counted(count: int, noun: str) -> str:
    """``1 file``, ``2 files``, ``1,000 Submissions``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one event; a field of another type than its schema has raises ``TypeError`` or ``ValueError``."""

    values: Mapping[str, object]

    def text(self, name: str, length: int = _MOST) -> str:
        """A text."""
        return safe(self.values[name], length)

    def maybe(self, name: str) -> str | None:
        """A text that may be null or missing."""
        return None if self.values.get(name) is None else self.text(name)

    def whole(self, name: str) -> int:
        """A count, seconds, or an amount as a decimal string."""
        return _whole(self.values[name])

    def maybe_whole(self, name: str) -> int | None:
        """The same where it may be null or missing."""
        return None if self.values.get(name) is None else self.whole(name)

    def texts(self, name: str) -> Sequence[str]:
        """A list of texts; empty where it is null or missing."""
        return [safe(each) for each in _list(self.values.get(name) or [])]

    def rows(self, name: str) -> Iterator["Fields"]:
        """A list of objects."""
        for each in _list(self.values[name]):
            if not isinstance(each, Mapping):
                raise TypeError(f"{name} holds no objects")
            yield Fields(each)

    def inner(self, name: str) -> "Fields | None":
        """An object that may be null."""
        found = self.values.get(name)
        if found is not None and not isinstance(found, Mapping):
            raise TypeError(f"{name} is no object")
        return None if found is None else Fields(found)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError("not a whole number")
    if isinstance(value, str) and not (value.isascii() and value.isdigit() and len(value) < 100):
        raise ValueError("not a whole number")
    return int(value)


def _list(value: object) -> Sequence[object]:
    if not isinstance(value, list | tuple):
        raise TypeError("not a list")
    return value
