"""Regular expressions behind a cheap question: most of a page says nothing that a given rule is about."""

import re
from collections.abc import Iterator
from typing import Final

_NOTHING: Final[tuple[re.Match[str], ...]] = ()


class Wording:
    """A pattern that is tried only where one of ``words`` (lower case) occurs in the text, in whatever case."""

    __slots__ = ("_pattern", "_words")

    def __init__(self, pattern: str, words: str, flags: int = re.IGNORECASE) -> None:
        self._pattern = re.compile(pattern, flags)
        self._words = tuple(words.split("|"))

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self._pattern.search(text) if self._may_hold(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Every match."""
        return self._pattern.finditer(text) if self._may_hold(text) else iter(_NOTHING)

    def _may_hold(self, text: str) -> bool:
        lower = text.lower()
        for word in self._words:  # noqa: SIM110  # a generator costs more than what it asks
            if word in lower:
                return True
        return False
