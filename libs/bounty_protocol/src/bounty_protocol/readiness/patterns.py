"""The only regular expressions that a rule may use: RE2's, whose time grows with the text and not with its square.

For any text, one search costs a time proportional to its length, and so does finding every match, since ``each`` takes
only expressions whose matches are short. Letters are compared in any case, and as they are read: compatibility forms
count as what they represent (a full-width A as A), any other letter as ``_`` and any space as a blank, so that ``\\b``,
``\\w``, ``\\d`` and ``\\s`` mean what they mean to a reader.

RE2 has no look-around. ``not_after`` and ``not_before`` name what must not be beside a match instead; both look at a
few characters only.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import re2

_BESIDE: Final = 64
"""How far ``not_after`` and ``not_before`` look."""
_PASSAGE: Final = 2_000
"""No passage has more characters, as a rule."""
_LITERAL: Final = re2.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
_UNBOUNDED: Final = re2.compile(r"[*+]|\{[0-9]+,\}")


class Found:
    """One match in a text."""

    __slots__ = ("_match", "_text")

    def __init__(self, text: str, match: Any) -> None:  # re2 has no types
        self._text, self._match = text, match

    @property
    def words(self) -> str:
        """The matched text, as the author wrote it."""
        return self._text[self.start : self.end]

    @property
    def start(self) -> int:
        """Where it begins."""
        return int(self._match.start())

    @property
    def end(self) -> int:
        """Where it ends."""
        return int(self._match.end())

    def __getitem__(self, group: str | int) -> str:
        """Return a group as compared; empty if it did not match."""
        return str(self._match[group] or "")

    @property
    def groups(self) -> list[str]:
        """The groups that matched, in order."""
        return [group for group in self._match.groups() if group]


class Pattern:
    """One expression in RE2's syntax, tried in any case unless ``exact_case``.

    ``not_after`` and ``not_before`` are expressions, too: what makes a match none by ending right before it, or by
    beginning right behind it.
    """

    __slots__ = ("_after", "_before", "_engine", "_is_bounded")

    def __init__(
        self, expression: str, *, exact_case: bool = False, not_after: str | None = None, not_before: str | None = None
    ) -> None:
        self._engine = _compiled(expression, exact_case=exact_case)
        self._is_bounded = _UNBOUNDED.search(_LITERAL.sub("", expression)) is None
        self._after = None if not_after is None else _compiled(rf"(?:{not_after})\z", exact_case=exact_case)
        self._before = None if not_before is None else _compiled(not_before, exact_case=exact_case)

    def search(self, text: str) -> Found | None:
        """Return the first match."""
        if self._after is not None or self._before is not None:
            return next(self.each(text), None)
        match = self._engine.search(as_read(text))
        return None if match is None else Found(text, match)

    def each(self, text: str) -> Iterator[Found]:
        """Yield every match, none overlapping another. Only for an expression without unbounded repetition."""
        if not self._is_bounded:
            raise ValueError("an expression whose matches may be long is only for search and starts")
        read = as_read(text)
        for match in self._engine.finditer(read):
            if self._stands_alone(read, match):
                yield Found(text, match)

    def starts(self, text: str) -> Found | None:
        """Return the match at the very beginning."""
        match = self._engine.match(as_read(text))
        return None if match is None else Found(text, match)

    def is_all_of(self, text: str) -> bool:
        """Return whether the whole text is one match."""
        return self._engine.fullmatch(as_read(text)) is not None

    def _stands_alone(self, read: str, match: Any) -> bool:
        start, end = match.span()
        if self._after is not None and self._after.search(read[max(0, start - _BESIDE) : start]):
            return False
        return self._before is None or self._before.match(read[end : end + _BESIDE]) is None


def found_in(patterns: Sequence[Pattern], text: str) -> list[Pattern]:
    """Return the patterns that match anywhere in a text; the others need not be tried on its parts."""
    return [pattern for pattern in patterns if pattern.search(text)]


def first_of(patterns: Sequence[Pattern], text: str) -> Found | None:
    """Return the first match of the first pattern that has one."""
    return next((found for pattern in patterns if (found := pattern.search(text))), None)


def each_of(patterns: Sequence[Pattern], text: str) -> Iterator[Found]:
    """Yield every match of several patterns in the order of the text; what overlaps an earlier one is left out."""
    ends = 0
    for found in sorted((found for pattern in patterns for found in pattern.each(text)), key=lambda one: one.start):
        if found.start >= ends:
            ends = found.end
            yield found


def as_read(text: str) -> str:
    """Return the text that is compared, character by character: its offsets are those of ``text``."""
    if text.isascii():
        return text
    return _page_as_read(text) if len(text) > _PASSAGE else _passage_as_read(text)


@lru_cache(maxsize=4)
def _page_as_read(text: str) -> str:
    """Translate a whole page, with which every rule begins, into a cache from which no passage can evict it."""
    return text.translate(_READ)


@lru_cache(maxsize=16)
def _passage_as_read(text: str) -> str:
    return text.translate(_READ)


class _Read(dict[int, str]):
    """The reading of each character; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        form = unicodedata.normalize("NFKC", character)
        if len(form) == 1 and form.isascii():
            read = form
        elif character.isdecimal():
            read = str(unicodedata.decimal(character))
        elif character.isspace():
            read = " "
        else:
            read = "_" if character.isalnum() else character
        self[code] = read
        return read


_READ: Final = _Read({code: chr(code) for code in range(128)})


def _compiled(expression: str, *, exact_case: bool) -> Any:
    options = re2.Options()
    options.case_sensitive = exact_case
    options.log_errors = False
    return re2.compile(expression, options)
