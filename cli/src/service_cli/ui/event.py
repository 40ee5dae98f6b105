"""An event: what a command reports, as one frozen dataclass for each kind.

A subclass is the one definition of its event. Its docstring is its entry in the reference of events, its annotations
are the JSON object that follows ``event`` (``bounty_protocol.shapes``), and ``SAYS`` is its sentence for people, below
which a terminal shows the other fields (``ui/screen.py``). It stands in a module of events beside what reports it; a
command's help lists those with its prefix.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, ClassVar, Final, cast

from bounty_protocol.shapes import OMITTED, Note, parts, to_json

Count = Annotated[int, Note(minimum=0)]
"""How many."""
Position = Annotated[int, Note(minimum=1)]
"""A place in a list that people count, from 1."""
Code = Annotated[str, Note(pattern="^[a-z0-9_]+$")]
"""Of a refusal, for programs."""
JsonObject = Mapping[str, object]
"""The API's answer, unchanged."""


class Event:
    """Base of all events."""

    __slots__ = ()

    EVENT: ClassVar[str] = ""
    """Its public name: the prefix of its command, a point, and what happened."""
    WHEN: ClassVar[str] = ""
    """When a command prints it, where that is not always or once: an option, or how often."""
    SHOWN: ClassVar[str] = ""
    """Shown by the help instead of its fields' names, where it passes on what it did not make itself."""
    OPEN: ClassVar[bool] = False
    """Whether the keys of its field ``more`` stand beside its other ones."""
    FOR_PROGRAMS: ClassVar[bool] = False
    """Whether a wallet or another program takes it, so that it is JSON in text mode, too."""
    SAYS: ClassVar[str] = ""
    """Its sentence for people, with the names of fields in braces; empty if the fields say enough."""
    HIDES: ClassVar[tuple[str, ...]] = ()
    """Fields that people are not shown: an event before it had them, or only programs take them."""
    TABLE: ClassVar[bool] = False
    """Whether events of this kind that follow each other are the rows of a table."""

    def name_of_event(self) -> str:
        """Return its public name."""
        return self.EVENT

    def json(self) -> dict[str, object]:
        """Return its fields as a JSON object, without its name."""
        found = to_json(self)
        more = found.pop("more") if self.OPEN else {}
        return found | dict(cast("JsonObject", more))

    @classmethod
    def synopsis(cls) -> str:
        """Return its line in a command's help: the name, the fields, and when it is printed."""
        shown = cls.SHOWN or ", ".join(part.name for part in parts(cast("type", cls)))
        return f"{cls.EVENT} ({shown})" + (f", {cls.WHEN}" if cls.WHEN else "")

    def says(self) -> str:
        """Return its sentence, with the names of fields in braces."""
        return self.SAYS

    def facts(self, now: int) -> object:  # noqa: ARG002
        """Return the dataclass whose fields are shown to people: this one without those in its sentence; or None."""
        return self

    def document(self) -> str | None:
        """Return a stranger's text that is shown whole below them."""
        return None


@dataclass(frozen=True, slots=True)
class EndingIssue:
    """One of several things that were found."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class CommandEnding(Event):
    """`<prefix>.refused` is final for this state; `<prefix>.failed` may pass when the command is run again. The prefix
    is the one of the command's own events. `issues` is there where several things were found, `retry_not_before`
    (ISO 8601 UTC) where the API named the moment from which a limit permits another attempt, or where finality is
    expected at about that moment (`not_finalized`)."""

    prefix: str
    is_refusal: bool
    code: Code
    message: str
    next_action: str
    issues: Annotated[tuple[EndingIssue, ...] | None, OMITTED] = None
    retry_not_before: Annotated[str | None, OMITTED, Note(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$")] = None

    def name_of_event(self) -> str:
        return f"{self.prefix}.{'refused' if self.is_refusal else 'failed'}"

    def json(self) -> dict[str, object]:
        return {name: value for name, value in to_json(self).items() if name not in {"prefix", "is_refusal"}}


_MODULES: Final = (
    "chain.events",
    "queries.events",
    "queries.judgeable_events",
    "queries.status_events",
    "work.events",
    "work.page_events",
    "acts.claim_events",
    "acts.fund_events",
    "acts.submit_events",
    "acts.verdict_events",
)
"""Where events are: beside what reports them, in modules that import nothing slow."""


def events_of(prefix: str) -> tuple[type[Event], ...]:
    """Return the events of a command, in their order: those whose name begins with its prefix."""
    found = list[type[Event]]()
    for name in _MODULES:
        module = import_module(f"service_cli.{name}")
        defined = (
            each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__
        )
        found += (each for each in defined if issubclass(each, Event) and each.EVENT.partition(".")[0] == prefix)
    return tuple(found)
