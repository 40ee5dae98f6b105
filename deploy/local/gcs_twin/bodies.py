"""Request bodies and ranges, read within bounds."""

import re
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final

from gcs_twin.answers import ErrorAnswer

_BLOCK: Final = 1024 * 1024
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_LENGTHS = re.compile(r"(\d+),(\d+)")


class BodyCut(Exception):
    """The connection ended before the body did: nobody is left to answer."""


class Body:
    """One request's body; ``unread`` is whether the connection still holds some of it."""

    def __init__(self, source: BufferedIOBase, length: str | None, transfer: str | None) -> None:
        self._source = source
        self._chunked = (transfer or "").lower() == "chunked"
        self.length = None if self._chunked else int(length or 0)
        self.unread = self._chunked or bool(self.length)

    def check_length(self, limits: str | None) -> tuple[int, int] | None:
        """Refuse a stated length outside ``x-goog-content-length-range`` before a byte is read."""
        if limits is None:
            return None
        found = _LENGTHS.fullmatch(limits.replace(" ", ""))
        if found is None:
            raise ErrorAnswer(400, "InvalidArgument", "x-goog-content-length-range is two numbers and a comma.")
        low, high = int(found[1]), int(found[2])
        if self.length is not None:
            check_size(self.length, (low, high))
        return low, high

    def chunks(self, limits: tuple[int, int] | None = None) -> Iterator[bytes]:
        """Yield the bytes; one that turns out shorter or longer than ``limits`` is refused before its last chunk
        counts.
        """
        total = 0
        for chunk in self._framed() if self._chunked else self._counted(self.length or 0):
            total += len(chunk)
            if limits is not None and total > limits[1]:
                check_size(total, limits)
            yield chunk
        self.unread = False
        if limits is not None:
            check_size(total, limits)

    def _counted(self, remaining: int) -> Iterator[bytes]:
        while remaining:
            chunk = self._source.read(min(_BLOCK, remaining))
            if not chunk:
                raise BodyCut
            remaining -= len(chunk)
            yield chunk

    def _framed(self) -> Iterator[bytes]:
        while True:
            try:
                size = int(self._source.readline(64).split(b";")[0], 16)
            except ValueError:
                raise BodyCut from None
            yield from self._counted(size)
            if self._source.readline(8).strip() or size == 0:
                return


def check_size(size: int, limits: tuple[int, int]) -> None:
    """Refuse a size outside the signed range."""
    if size > limits[1]:
        raise ErrorAnswer(400, "EntityTooLarge", "Your proposed upload is larger than the maximum size of this URL.")
    if size < limits[0]:
        raise ErrorAnswer(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum size of this URL.")


def byte_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and last byte that a Range header requests; None for the whole object; ``ErrorAnswer`` 416."""
    found = _RANGE.fullmatch(header.strip()) if header else None
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        first, last = max(0, size - int(found[2])), size - 1
    else:
        first, last = int(found[1]), min(int(found[2]) if found[2] else size - 1, size - 1)
    if first > last:
        raise ErrorAnswer(416, "InvalidRange", "The requested range cannot be satisfied.")
    return first, last
