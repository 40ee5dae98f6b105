"""Text that a deployment's operator does not show: pages, written Verdicts, and all text of an account."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from bounty_protocol.shapes import Note
from bounty_protocol.types import MAX_INT64, Address, BountyId, Bytes32, UnixSeconds

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 500
MAX_REASON: Final = 500
"""Characters of a reason."""


class WithheldKind(StrEnum):
    """What is withheld: the page of a bounty, a written Verdict, or all pages and Verdicts of an account."""

    BOUNTY = "bounty"
    VERDICT = "verdict"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class Withheld:
    """That this deployment's operator does not show a text here, and why. The chain has its commitment all the same."""

    reason: Annotated[str, Note("The operator's reason, for anyone to read.", max_length=MAX_REASON)]
    since: UnixSeconds
    until: Annotated[UnixSeconds | None, Note("When it is shown again; null if no time is set.")]


@dataclass(frozen=True, slots=True)
class WithheldText:
    """A text that is withheld, named by what the chain has of it: of each kind the fields that name it are set."""

    number: Annotated[int, Note("Number of a decision of the operator; some numbers are skipped.", minimum=1)]
    kind: WithheldKind
    bounty_id: Annotated[BountyId | None, Note("For a page: the bounty that was named. Others may have the same page.")]
    spec_commitment: Annotated[Bytes32 | None, Note("Of a page.")]
    report_commitment: Annotated[Bytes32 | None, Note("Of a written Verdict.")]
    account_address: Annotated[Address | None, Note("Of an account.")]
    reason: Annotated[str, Note("The operator's reason, for anyone to read.", max_length=MAX_REASON)]
    since: UnixSeconds
    until: Annotated[UnixSeconds | None, Note("When it is shown again; null if no time is set.")]


@dataclass(frozen=True, slots=True)
class WithheldQuery:
    """The query of the list."""

    after: Annotated[int, Note("The number of the last decision read; 0 for all.", minimum=0, maximum=MAX_INT64)] = 0
    limit: Annotated[int, Note("Texts in a page.", minimum=1, maximum=MAX_LIMIT)] = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True)
class WithheldList:
    """One page of what is withheld at the moment, by its numbers."""

    items: tuple[WithheldText, ...]
    next_after: Annotated[int, Note("The next value of `after`; unchanged if there is nothing more.", minimum=0)]
    has_more: bool
    report_address: Annotated[
        str | None, Note("Where to report unlawful text or a wrong decision; null if none is set.")
    ]
