"""What a subject is, and a forgery of it: who can forge it, against which acts, and which facts
rest on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.cli.plays.acts import Act, Kind
from tests.cli.plays.facts import By, Fact
from tests.cli.plays.forgeries.answers import Answers
from tests.cli.plays.world import World

Forger = Callable[[World, Act], Answers]
Branch = Callable[[World, Act], object]
"""What a node does on a branch of its own."""


BY_NODE: Final = (By.NODE,)
BY_API: Final = (By.API,)
BY_ANY: Final = (By.NODE, By.API, By.BOTH)


@dataclass(frozen=True, slots=True)
class Forgery:
    """One way to forge a subject: by other answers, or by a branch."""

    subject: str
    name: str
    kinds: frozenset[Kind]
    """Of the acts that may rest on the subject."""
    by: tuple[By, ...]
    """Who is in a position to."""
    answers: Forger | None = None
    branch: Branch | None = None

    def __str__(self) -> str:
        return f"{self.subject}: {self.name}"

    def concerns(self, act: Act) -> bool:
        """Whether the act may rest on the subject."""
        return bool(self.kinds & act.kinds)


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that an endpoint shows, and every way to forge it."""

    name: str
    bears_on: tuple[Fact, ...]
    """The facts that are worked out from it; none where nothing final rests on it."""
    forgeries: tuple[Forgery, ...]


def subject(
    name: str,
    kinds: set[Kind],
    by: tuple[By, ...],
    answers: Mapping[str, Forger],
    branches: Mapping[str, Branch] | None = None,
    bears_on: tuple[Fact, ...] = (),
) -> Subject:
    """A subject from its forgeries by their names; a branch is shown by a node."""
    concerned, nodes = frozenset(kinds), tuple(each for each in by if each.has_node)
    answered = [Forgery(name, how, concerned, by, answers=each) for how, each in answers.items()]
    branched = [Forgery(name, how, concerned, nodes, branch=each) for how, each in (branches or {}).items()]
    return Subject(name, bears_on, (*answered, *branched))
