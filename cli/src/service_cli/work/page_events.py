"""Events of challenge pages: written, checked and hashed on this machine."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bounty_protocol.shapes import OMITTED, Note
from bounty_protocol.types import Bytes32, TokenAmount, UnixSeconds

from service_cli.ui.event import Count, Event, Position
from service_cli.ui.text import counted


@dataclass(frozen=True, slots=True)
class WrittenTemplate(Event):
    """The template is at `path`. What an option was taken for stands beside it, null without the option; with
    `--award` the escrow and who gets what of it, by the Hub's fees."""

    EVENT: ClassVar[str] = "poster_new.written"
    SAYS: ClassVar[str] = "A template of a challenge page is in {path}. Fill in what is in angle brackets."
    path: str
    escrow_amount: TokenAmount | None
    submission_deadline: UnixSeconds | None
    judging_window_seconds: Annotated[int | None, Note(minimum=1)]
    winner_award: Annotated[TokenAmount | None, OMITTED] = None
    guardian_fee: Annotated[TokenAmount | None, OMITTED] = None
    protocol_fee: Annotated[TokenAmount | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class PageIssue(Event):
    """One thing that keeps the page from being published: the line where it is, from 1, the field (`body` below the
    frontmatter, `template` for what is left of one), and what to change."""

    EVENT: ClassVar[str] = "poster_check.issue"
    WHEN: ClassVar[str] = "one for each"
    SAYS: ClassVar[str] = "line {line}, {field}: {message}"
    line: Position
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckedPage(Event):
    """How many there are. `hub_checked` is whether the terms were held against the Hub's own bounds, too. Where there
    are any, `poster_check.refused` follows."""

    EVENT: ClassVar[str] = "poster_check.finished"
    spec_commitment: Bytes32
    byte_length: Count
    issues: Count
    hub_checked: bool

    def says(self) -> str:
        if self.issues:
            return f"Not ready: {counted(self.issues, 'thing')} to change."
        return "No issues found. The service's review may still find what no rule checks."


@dataclass(frozen=True, slots=True)
class DerivedCommitment(Event):
    """keccak256 of the exact bytes."""

    EVENT: ClassVar[str] = "spec_commitment.derived"
    SAYS: ClassVar[str] = "The commitment is the keccak256 of exactly these {byte_length}."
    spec_commitment: Bytes32
    byte_length: Count
