"""Bounties as they are listed and shown."""

from dataclasses import dataclass
from typing import Annotated, Final

from bounty_protocol.domain.lifecycle.bounty import TermDifference, Winner
from bounty_protocol.domain.lifecycle.record import VerificationRecord
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome, SettlementReason
from bounty_protocol.shapes import OMITTED, JsonOf, Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, TokenAmount, UnixSeconds
from bounty_protocol.wire.cursor import BountySort
from bounty_protocol.wire.errors import ErrorBody
from bounty_protocol.wire.values import Finality, JsonObject, PageCursor, RecordFailure, SearchText, Tag
from bounty_protocol.wire.withheld import Withheld

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 100


SEARCH: Final = (
    "Every word must occur in title or summary, also inside another word if it has three letters, or two in scripts"
    ' without spaces; text in "quotes" must occur exactly, -word must not occur.'
)


@dataclass(frozen=True, slots=True)
class BountyFilter:
    """Filters that a bounty's terms and page decide for good. ``award`` is what a winner gets: the escrow less both
    fees."""

    poster_address: Annotated[Address | None, OMITTED, Note("Who funded it.")] = None
    guardian_address: Annotated[Address | None, OMITTED, Note("On the roster that the bounty pins.")] = None
    search: Annotated[SearchText | None, OMITTED, Note(SEARCH)] = None
    tag: Annotated[Tag | None, OMITTED, Note("Of the page.")] = None
    min_award: Annotated[TokenAmount | None, OMITTED, Note("The winner's award, at least.")] = None
    max_award: Annotated[TokenAmount | None, OMITTED, Note("The winner's award, at most.")] = None
    deadline_after: Annotated[UnixSeconds | None, OMITTED, Note("Submission deadline later than this.")] = None
    deadline_before: Annotated[UnixSeconds | None, OMITTED, Note("Submission deadline earlier than this.")] = None


@dataclass(frozen=True, slots=True)
class BountyQuery(BountyFilter):
    """The query of the list."""

    cursor: Annotated[
        PageCursor | None,
        OMITTED,
        Note("Continues exactly after the last item, even if others were created meanwhile."),
    ] = None
    limit: Annotated[int, Note("Items in a page.", minimum=1, maximum=MAX_LIMIT)] = DEFAULT_LIMIT
    status: Annotated[BountyStatus | None, OMITTED, Note("Open or final.")] = None
    accepting: Annotated[bool | None, OMITTED, Note("Open, before the submission deadline: true or false.")] = None
    judgeable: Annotated[
        bool | None, OMITTED, Note("Open, between reveal point and judging deadline: true or false.")
    ] = None
    solver_address: Annotated[Address | None, OMITTED, Note("Who submitted to it.")] = None
    sort: Annotated[
        BountySort, Note("Newest open ones, the earliest submission deadline, or the highest award first.")
    ] = BountySort.NEWEST


@dataclass(frozen=True, slots=True)
class Facts:
    """A bounty's terms and state on the Hub; ``accepting`` and ``judgeable`` are as of the indexed block's time."""

    status: BountyStatus
    accepting: bool
    judgeable: bool
    poster_address: Address
    escrow_amount: TokenAmount
    spec_commitment: Bytes32
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    guardian_roster_hash: Bytes32
    protocol_fee: TokenAmount
    guardian_fee: TokenAmount
    outcome: Outcome | None
    settlement_reason: SettlementReason | None
    winner: Winner | None

    @property
    def award(self) -> TokenAmount:
        """The winner's amount: the escrow less both fees."""
        return TokenAmount(self.escrow_amount - self.protocol_fee - self.guardian_fee)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the chain."""

    number: BlockNumber
    hash: Bytes32


@dataclass(frozen=True, slots=True)
class BountyItem:
    """One bounty of the list. ``block`` is the one that last changed it."""

    bounty_id: BountyId
    facts: Facts
    active_submission_count: Annotated[int, Note(minimum=0)]
    finality: Finality
    block: Block
    title: Annotated[
        str | None, Note("The page's title; null if this service has no page that matches the commitment.")
    ] = None
    summary: str | None = None
    tags: Annotated[tuple[Tag, ...], Note("The page's tags; none if this service has no page.")] = ()
    withheld: Annotated[Withheld | None, OMITTED] = None


@dataclass(frozen=True, slots=True)
class BountyList:
    """One page of the list."""

    items: tuple[BountyItem, ...]
    next_cursor: Annotated[str | None, Note("For the next page.")]
    total_count: Annotated[
        int | None, Note("Items on all pages; null if more than 1,000 match a filter.", minimum=0)
    ] = None


@dataclass(frozen=True, slots=True)
class ActiveSubmission:
    """A Solver's current Submission."""

    solver_address: Address
    submission_commitment: Bytes32
    submitted_at: UnixSeconds
    block_number: BlockNumber
    block_hash: Bytes32


@dataclass(frozen=True, slots=True)
class ChallengeTerms:
    """Whether the page's own terms are those on chain: anyone can create a bounty with any commitment."""

    matches: bool
    differences: tuple[TermDifference, ...]


@dataclass(frozen=True, slots=True)
class RecordError:
    """Why a final bounty has no VerificationRecord at the moment."""

    code: RecordFailure
    message: str


@dataclass(frozen=True, slots=True)
class BountyDetail:
    """One bounty. Once final it has ``verification_record`` or ``verification_record_error``, never both."""

    bounty_id: BountyId
    chain_id: ChainId
    hub_address: Address
    facts: Facts
    guardian_roster: Roster
    active_submissions: tuple[ActiveSubmission, ...]
    active_submission_count: Annotated[int, Note("May exceed the number listed (at most 1,000).", minimum=0)]
    challenge: Annotated[
        str | None, Note("The committed Markdown; null if the stored bytes do not match it, or are withheld.")
    ]
    challenge_terms: ChallengeTerms | None
    finality: Finality
    block: Block
    error: Annotated[ErrorBody | None, OMITTED] = None
    withheld: Annotated[Withheld | None, OMITTED] = None
    verification_record: Annotated[JsonObject | None, JsonOf(VerificationRecord), OMITTED] = None
    verification_record_error: Annotated[RecordError | None, OMITTED] = None
