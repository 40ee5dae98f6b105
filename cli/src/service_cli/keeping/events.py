"""Events of ``keep``."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from bounty_protocol.types import BountyId

from service_cli.shell.event import Count, Event
from service_cli.shell.items import Shown
from service_cli.shell.phrases import argument, counted, following, size

if TYPE_CHECKING:
    from service_cli.shell.render.screen import Screen


class KeptKind(StrEnum):
    """What a kept file is."""

    PAGE = "page"
    VERDICT = "verdict"
    ENVELOPE = "envelope"
    CIPHERTEXT = "ciphertext"
    RECORD = "record"
    EVIDENCE = "evidence"


@dataclass(frozen=True, slots=True)
class KeptFile(Event):
    """A file that is complete and right by the chain, at its path below the directory."""

    EVENT: ClassVar[str] = "keep.file"
    WHEN: ClassVar[str] = "one for each that is new"
    kind: KeptKind
    path: str
    byte_length: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{self.path} ({size(self.byte_length)})"


@dataclass(frozen=True, slots=True)
class MissingFile(Event):
    """A file that the chain knows of and that could not be kept, and why."""

    EVENT: ClassVar[str] = "keep.missing"
    WHEN: ClassVar[str] = "one for each"
    path: str
    reason: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.bad('Missing:')} {self.path}: {self.reason}"


@dataclass(frozen=True, slots=True)
class KeptBounty(Event):
    """How many files this run kept, and how many were there and right before. `missing` counts those that the chain
    knows and that could not be kept."""

    EVENT: ClassVar[str] = "keep.done"
    bounty_id: BountyId
    directory: str
    kept: Count
    before: Count
    missing: Count
    is_final: bool

    def text(self, screen: "Screen") -> Iterator[Shown]:
        there = f", {self.before} were there before" if self.before else ""
        yield f"Kept {counted(self.kept, 'file')} of bounty {self.bounty_id}{there}; README.md says what each is for."
        if not self.is_final:
            yield "The bounty is not final yet: run it again then, for its record and the evidence of its end."
            yield following(f"keep {self.bounty_id} {argument(self.directory, 'DIRECTORY')}")
