"""The feed of changes: every event of the Hub as it was indexed, and what a reorg took back."""

from dataclasses import dataclass
from typing import Annotated, Final

from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.shapes import OMITTED, Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, UnixSeconds
from bounty_protocol.wire.values import AnyObject, ChangeKind, ChangeNumber, Finality

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 500
_BEGINNING: Final = ChangeNumber(0)


@dataclass(frozen=True, slots=True)
class ChangeQuery:
    """The query of the feed."""

    after: Annotated[ChangeNumber, Note("The number of the last change read; 0 for all.")] = _BEGINNING
    limit: Annotated[int, Note("Changes in a page.", minimum=1, maximum=MAX_LIMIT)] = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True)
class ReplacedVerdict:
    """A Verdict that the same Guardian replaced; without an award nobody is named."""

    kind: VerdictKind
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """An event of the Hub, with its fields by their names in the contract, in snake_case."""

    name: Annotated[str, Note("The event's name in the contract's ABI.")]
    bounty_id: BountyId | None
    fields: AnyObject
    block_number: BlockNumber
    block_hash: Bytes32
    log_index: int
    tx_hash: Bytes32
    time: UnixSeconds
    finality: Finality
    replaces: Annotated[
        ReplacedVerdict | None,
        OMITTED,
        Note("Only for a VerdictRecorded: the Guardian's earlier Verdict, which no longer counts."),
    ] = None


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the index. A retraction takes back every event of a block after ``last_block_number``."""

    number: ChangeNumber
    kind: ChangeKind
    event: ChangeEvent | None
    last_block_number: BlockNumber | None


@dataclass(frozen=True, slots=True)
class ChangeList:
    """One page of the feed, in order."""

    items: tuple[Change, ...]
    next_after: Annotated[ChangeNumber, Note("The next value of `after`; unchanged if nothing is new.")]
    has_more: bool
