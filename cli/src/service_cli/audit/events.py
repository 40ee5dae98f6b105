"""Events of ``service-audit``."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar

from bounty_protocol.shapes import Note
from bounty_protocol.types import BountyId, Bytes32

from service_cli.ui.event import Count, Event
from service_cli.ui.items import Field, Shown

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


class CheckResult(StrEnum):
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
class AuditCheck(Event):
    """One check. `subject` names what it was made of where there are several (a commitment). `differences` are there
    where `result` is `differs`; what others wrote is shown cut to 160 characters."""

    EVENT: ClassVar[str] = "service_audit.check"
    check: Annotated[str, Note(pattern="^[a-z_]+(\\.[a-z_]+)?$")]
    subject: str | None
    result: CheckResult
    detail: str
    differences: tuple[Difference, ...]

    def text(self, screen: "Screen") -> Iterator[Shown]:
        name, detail = self.check + (f" {self.subject}" if self.subject else ""), self.detail
        if self.result is CheckResult.HOLDS:
            yield f"{screen.good('holds')}        {name}: {detail}"
        elif self.result is CheckResult.NOT_CHECKED:
            yield f"{screen.quiet('not checked')}  {name}: {detail}"
        else:
            yield f"{screen.bad('DIFFERS')}      {name} (should be: {detail})"
            for each in self.differences:
                yield Field("", f"{each.path}: found {each.found}, expected {each.expected}")


@dataclass(frozen=True, slots=True)
class WrittenBundle(Event):
    """The evidence, in a new file."""

    EVENT: ClassVar[str] = "service_audit.bundle_written"
    WHEN: ClassVar[str] = "with --bundle"
    bounty_id: BountyId
    path: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"The evidence on bounty {self.bounty_id} is in {self.path}."


@dataclass(frozen=True, slots=True)
class WrittenPage(Event):
    """Only with `--html`: the page is complete."""

    EVENT: ClassVar[str] = "service_audit.page_written"
    WHEN: ClassVar[str] = "with --html"
    bounty_id: BountyId
    path: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"The page on bounty {self.bounty_id} is {self.path}."


@dataclass(frozen=True, slots=True)
class AuditTotal(Event):
    """How many checks ended how. `log_digest` is derived here from the log."""

    EVENT: ClassVar[str] = "service_audit.finished"
    bounty_id: BountyId
    log_digest: Bytes32
    holds: Count
    differs: Count
    not_checked: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        if screen.about.summary is not None:
            yield screen.about.summary
        holds, differs, unchecked = self.holds, self.differs, self.not_checked
        sign = screen.bad("Not everything holds.") if differs else screen.good("Everything that was checked holds.")
        yield f"{sign} Bounty {self.bounty_id}: {holds} hold, {differs} differ, {unchecked} not checked."
        yield Field("Log digest", self.log_digest, whole=True)
