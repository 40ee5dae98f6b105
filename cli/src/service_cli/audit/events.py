"""Events of ``service-audit``."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from bounty_protocol.shapes import Note
from bounty_protocol.types import BountyId, Bytes32

from service_cli.ui.event import Count, Event


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


@dataclass(frozen=True, slots=True)
class WrittenBundle(Event):
    """The evidence, in a new file."""

    EVENT: ClassVar[str] = "service_audit.bundle_written"
    WHEN: ClassVar[str] = "with --bundle"
    bounty_id: BountyId
    path: str


@dataclass(frozen=True, slots=True)
class WrittenPage(Event):
    """Only with `--html`: the page is complete."""

    EVENT: ClassVar[str] = "service_audit.page_written"
    WHEN: ClassVar[str] = "with --html"
    bounty_id: BountyId
    path: str


@dataclass(frozen=True, slots=True)
class AuditTotal(Event):
    """How many checks ended how. `log_digest` is derived here from the log."""

    EVENT: ClassVar[str] = "service_audit.finished"
    bounty_id: BountyId
    log_digest: Bytes32
    holds: Count
    differs: Count
    not_checked: Count
