"""Reading an object of unknown shape once, field by field, collecting every problem.

After ``finish`` each value had the type its reader expected, no key was missing and none was left over; all problems
are reported together as issues whose path names the field. Used by the JSON envelope and the frontmatter schemas; what
to raise is the caller's choice, since each boundary has its own error code.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final, TypeVar, cast

from bounty_protocol.errors import MAX_ISSUE_MESSAGE, MAX_ISSUE_PATH, Issue, requirement

T = TypeVar("T")
_LONGEST_NAME: Final = 40


def issue(path: str, message: str) -> Issue:
    """Return an issue cut to the lengths the interface allows."""
    return Issue(path[:MAX_ISSUE_PATH], message[:MAX_ISSUE_MESSAGE])


class FieldReader:
    """Takes fields from a mapping. A failed read records an issue and gives a placeholder that nobody may use."""

    def __init__(self, source: Mapping[str, object], prefix: str = "", issues: list[Issue] | None = None) -> None:
        self._source = source
        self._prefix = prefix
        self._seen: set[str] = set()
        self.issues: list[Issue] = [] if issues is None else issues

    def text(self, name: str, parse: Callable[[str], T]) -> T:
        """Read a required string by ``parse``."""
        value = self._take(name)
        if isinstance(value, str):
            return self._parsed(name, parse, value)
        self._lacks(name, "a string")
        return cast("T", None)

    def optional_text(self, name: str, parse: Callable[[str], T]) -> T | None:
        """Read a string that may be absent."""
        return self.text(name, parse) if name in self._source else None

    def integer(self, name: str, minimum: int, maximum: int) -> int:
        """Read a required whole number within bounds (JSON only; frontmatter holds strings)."""
        value = self._take(name)
        if isinstance(value, int) and not isinstance(value, bool):
            if minimum <= value <= maximum:
                return value
            self.problem(name, f"must be a whole number from {minimum} to {maximum}")
            return minimum
        self._lacks(name, "a whole number")
        return minimum

    def texts(
        self, name: str, parse: Callable[[str], T], maximum: int, *, is_required: bool = True, is_set: bool = False
    ) -> tuple[T, ...]:
        """Read a list of strings that is not empty; an optional list that is absent is empty."""
        if not is_required and name not in self._source:
            return ()
        items = self._take(name)
        if not isinstance(items, list):
            self._lacks(name, "a list")
            return ()
        if not 1 <= len(items) <= maximum:
            self.problem(name, f"must have 1 to {maximum} entries")
            return ()
        if is_set and len(set(map(str, items))) < len(items):
            self.problem(name, "must not have an entry twice")
            return ()
        entries = [self._entry(f"{name}[{index}]", parse, item) for index, item in enumerate(items)]
        return tuple(entry for entry in entries if entry is not None)

    def section(self, name: str) -> "FieldReader":
        """Read a required JSON object with its own reader, which shares this one's issues."""
        value = self._take(name)
        if not isinstance(value, dict):
            self._lacks(name, "an object")
            return FieldReader({}, f"{self._prefix}{name}.", [])
        return FieldReader(value, f"{self._prefix}{name}.", self.issues)

    def problem(self, name: str, message: str) -> None:
        """Record an issue against a field."""
        self.issues.append(issue(f"{self._prefix}{name}", message))

    def finish(self) -> list[Issue]:
        """Report keys that were never read, then return every issue so far."""
        for name in sorted(set(self._source) - self._seen, key=str):
            self.problem(str(name), f"is not a field of this document; {self._instead(str(name))}")
        return self.issues

    def _instead(self, name: str) -> str:
        """Hint at what an unknown key means: often a missing key, spelled differently."""
        missing = [each for each in self._seen if each not in self._source]
        if len(name) > _LONGEST_NAME or not missing:  # comparing takes the product of both lengths
            return "remove it"
        near = get_close_matches(name.lower().replace("-", "_"), sorted(missing), n=1, cutoff=0.6)
        return f"did you mean {near[0]}?" if near else "remove it"

    def _take(self, name: str) -> object:
        self._seen.add(name)
        return self._source.get(name)

    def _lacks(self, name: str, wanted: str) -> None:
        self.problem(name, f"must be {wanted}" if name in self._source else "is missing")

    def _parsed(self, name: str, parse: Callable[[str], T], text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            self.problem(name, requirement(str(error)))
            return cast("T", None)

    def _entry(self, name: str, parse: Callable[[str], T], item: object) -> T | None:
        if isinstance(item, str):
            return self._parsed(name, parse, item)
        self.problem(name, "must be a string")
        return None
