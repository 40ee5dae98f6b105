"""The checks of an audit: what holds, what does not, what was not checked.

Each check is one event, printed as soon as it is made; a difference names its place, what was found and what the chain
has. What the audited side wrote is shown bounded and without control characters.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from service_cli.shell.output import event, is_text
from service_cli.shell.text import printable

MOST_DIFFERENCES: Final = 50
_MOST_SHOWN: Final = 160
ABSENT: Final = object()
"""Where a key is not there at all: something else than null."""


class Result(StrEnum):
    """How a check ended."""

    HOLDS = "holds"
    DIFFERS = "differs"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what was found is not what the chain has."""

    path: str
    found: str
    expected: str


@dataclass(frozen=True, slots=True)
class Check:
    """One check as it ended; ``subject`` is the document it was made of, where there are several."""

    name: str
    subject: str | None
    result: Result
    detail: str
    differences: tuple[Difference, ...]

    @property
    def title(self) -> str:
        """Its name, with its subject."""
        return self.name if self.subject is None else f"{self.name} {self.subject}"

    def show(self) -> None:
        """Print its event."""
        rows = [{"path": each.path, "found": each.found, "expected": each.expected} for each in self.differences]
        names = {"check": self.name, "subject": self.subject, "result": self.result.value}
        event("service_audit.check", {**names, "detail": self.detail, "differences": rows})


@dataclass(slots=True)
class Report:
    """Collects the checks of one audit, and prints the event of each."""

    checks: list[Check] = field(default_factory=list)

    @property
    def counts(self) -> Counter[Result]:
        """How many checks ended how."""
        return Counter(check.result for check in self.checks)

    @property
    def differing(self) -> list[str]:
        """The checks that do not hold."""
        return [check.title for check in self.checks if check.result is Result.DIFFERS]

    @property
    def holding(self) -> list[str]:
        """The names of the checks that hold."""
        return list(dict.fromkeys(check.name for check in self.checks if check.result is Result.HOLDS))

    def holds(self, name: str, detail: str, subject: str | None = None) -> None:
        """The check was made and holds."""
        self._add(name, subject, Result.HOLDS, detail, ())

    def not_checked(self, name: str, reason: str, subject: str | None = None) -> None:
        """The check could not be made, and why."""
        self._add(name, subject, Result.NOT_CHECKED, reason, ())

    def judge(self, name: str, differences: Iterable[Difference], detail: str, subject: str | None = None) -> None:
        """The check holds exactly when there is no difference; ``detail`` is what was compared."""
        found = list(differences)
        self._add(name, subject, Result.DIFFERS if found else Result.HOLDS, detail, found[:MOST_DIFFERENCES])

    def compare(self, name: str, found: object, expected: object, detail: str, *, closed: bool = False) -> None:
        """Two trees of JSON, the first the audited side's; ``closed`` refuses keys that are not expected."""
        self.judge(name, tree_differences(found, expected, name, closed=closed), detail)

    def _add(
        self, name: str, subject: str | None, result: Result, detail: str, differences: Sequence[Difference]
    ) -> None:
        check = Check(name, subject, result, detail, tuple(differences))
        self.checks.append(check)
        if not is_text():  # people read what it comes to first
            check.show()


def tree_differences(found: object, expected: object, path: str, *, closed: bool = False) -> Iterator[Difference]:
    """Every leaf at which two JSON trees differ: in type, in value, by absence or, with ``closed``, by presence."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key, ours in expected.items():
            yield from tree_differences(found.get(key, ABSENT), ours, f"{path}.{key}", closed=closed)
        for key in sorted(set(found) - set(expected), key=str) if closed else ():
            yield Difference(f"{path}.{printable(key, _MOST_SHOWN + 1)}", shown(found[key]), "nothing of that name")
    elif isinstance(expected, list) and isinstance(found, list):
        for index in range(max(len(expected), len(found))):
            ours = expected[index] if index < len(expected) else ABSENT
            theirs = found[index] if index < len(found) else ABSENT
            yield from tree_differences(theirs, ours, f"{path}[{index}]", closed=closed)
    elif found is ABSENT or expected is ABSENT or type(found) is not type(expected) or found != expected:
        yield Difference(path, shown(found), shown(expected))


def differing(path: str, found: object, expected: object) -> Difference:
    """A difference as text for a terminal."""
    return Difference(path, shown(found), shown(expected))


def shown(value: object) -> str:
    """A value as a person sees it."""
    if value is ABSENT:
        return "nothing"
    try:
        text = printable(value, _MOST_SHOWN + 1)
    except RecursionError:
        return "a tree too deep to show"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
