"""Events of ``service-conformance``."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar

from bounty_protocol.shapes import Note

from service_cli.shell.event import Count, Event
from service_cli.shell.items import Shown

if TYPE_CHECKING:
    from service_cli.shell.render.screen import Screen


class Conformity(StrEnum):
    """How a requirement was met."""

    MET = "met"
    BROKEN = "broken"
    NOT_CHECKED = "not_checked"


@dataclass(frozen=True, slots=True)
class RequirementChecked(Event):
    """One requirement. `detail` is what was seen where it is `met`, what was wrong where it is `broken`, and what was
    missing where it was `not_checked`; what the deployment wrote is shown cut to 200 characters."""

    EVENT: ClassVar[str] = "service_conformance.requirement"
    requirement: Annotated[str, Note(pattern="^[a-z_]+(\\.[a-z_]+)?$")]
    demands: str
    result: Conformity
    detail: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        shown = {
            Conformity.MET: f"{screen.good('met')}          ",
            Conformity.BROKEN: f"{screen.bad('BROKEN')}       ",
            Conformity.NOT_CHECKED: f"{screen.quiet('not checked')}  ",
        }
        yield f"{shown[self.result]}{self.requirement}: {self.demands} ({self.detail})"


@dataclass(frozen=True, slots=True)
class ConformanceTotal(Event):
    """How many requirements ended how, and how many requests that took."""

    EVENT: ClassVar[str] = "service_conformance.finished"
    url: str
    met: Count
    broken: Count
    not_checked: Count
    requests: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        sign = screen.bad("It does not conform.") if self.broken else screen.good("All that was checked conforms.")
        yield f"{sign} {self.url}: {self.met} met, {self.broken} broken, {self.not_checked} not checked."
