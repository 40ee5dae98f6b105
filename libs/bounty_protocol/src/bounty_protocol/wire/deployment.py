"""The facts that a deployment publishes: its chain, its Hub, its keys and its rubric."""

from dataclasses import dataclass
from typing import Annotated

from bounty_protocol.crypto.beacon_info import BeaconInfo
from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, TokenAmount, UnixSeconds
from bounty_protocol.wire.values import IndexState


@dataclass(frozen=True, slots=True)
class TokenDescription:
    """The one token of the Hub."""

    address: Address
    symbol: str
    decimals: int


@dataclass(frozen=True, slots=True)
class CurrentFees:
    """The fees of bounties created now, in basis points of the escrow."""

    protocol_fee_bps: int
    guardian_fee_bps: int
    protocol_fee_recipient: Address


@dataclass(frozen=True, slots=True)
class HubLimits:
    """The limits of the Hub and of the service."""

    min_escrow_amount: TokenAmount
    min_judging_window_seconds: int
    max_judging_window_seconds: int
    min_submission_window_seconds: int
    max_submission_window_seconds: int
    max_challenge_bytes: int
    max_ciphertext_bytes: int


@dataclass(frozen=True, slots=True)
class Deployment:
    """The facts of this deployment that a client needs."""

    chain_id: ChainId
    hub_address: Address
    escrow_token: TokenDescription
    fee_policy: CurrentFees | None
    guardian_roster: Roster | None
    limits: HubLimits
    reveal_delay_seconds: int
    block_time_seconds: Annotated[float, Note("Seconds per block since the chain's final block.")]
    freshness_window_seconds: Annotated[
        int, Note("How much older than the newest block a signed request's block may be, by header times.")
    ]
    beacon: BeaconInfo
    public_host: Annotated[str, Note("The audience of signatures.")]


@dataclass(frozen=True, slots=True)
class IndexPosition:
    """How far the copy is. ``tip_block_number`` is the newest block that the chain showed."""

    block_number: BlockNumber
    block_hash: Bytes32
    block_time: UnixSeconds
    finalized_block_number: BlockNumber
    finalized_block_time: UnixSeconds
    tip_block_number: BlockNumber
    lag_seconds: Annotated[int, Note("Seconds from the newest indexed block to now.", minimum=0)]
    finality_seconds: Annotated[int, Note("How long a fact takes to become final, as measured now.", minimum=0)]
    reorg_count: int
    deepest_reorg: Annotated[int, Note("In blocks.")]


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The newest block that the chain showed to this deployment, indexed or not."""

    block_time: UnixSeconds
    age_seconds: Annotated[int, Note("Seconds from that block to now.", minimum=0)]
    stands_still: Annotated[
        bool,
        Note(
            f"Whether the block is older than {STANDS_STILL_SECONDS} seconds: nothing sent counts until there is a "
            "newer one, and deadlines still pass meanwhile."
        ),
    ]


@dataclass(frozen=True, slots=True)
class DeploymentTotals:
    """Totals of all bounties of the Hub, as of the newest indexed block."""

    bounty_count: int
    open_count: int
    accepting_count: Annotated[int, Note("Open and before the submission deadline.")]
    judgeable_count: Annotated[int, Note("Open, from the reveal point to the judging deadline.")]
    awarded_count: int
    unawarded_count: Annotated[int, Note("Ended without a valid Submission.")]
    escrow_held: Annotated[TokenAmount, Note("Paid in and not paid out yet.")]
    awards_paid: TokenAmount
    refunds_paid: TokenAmount
    guardian_fees_paid: TokenAmount
    protocol_fees_paid: TokenAmount


@dataclass(frozen=True, slots=True)
class RosterAnnouncement:
    """A roster version that new bounties pin from a moment on, unless another is announced before it."""

    version: int
    guardian_roster_hash: Bytes32
    effective_from: UnixSeconds


@dataclass(frozen=True, slots=True)
class KeyAnnouncement:
    """A delivery key that Guardians deliver to from a moment on, unless it is withdrawn or replaced before it."""

    delivery_public_key: Bytes32
    effective_from: UnixSeconds


@dataclass(frozen=True, slots=True)
class Announcements:
    """The announcements of the Hub's owner that are not in effect yet; null if it announced nothing."""

    guardian_roster: RosterAnnouncement | None
    delivery_key: KeyAnnouncement | None
    new_owner: Annotated[Address | None, Note("The account to which ownership of the Hub is offered.")]


@dataclass(frozen=True, slots=True)
class DeploymentStatus:
    """How this deployment does. Without an index there is neither position, nor totals, nor announcements."""

    state: IndexState
    chain_id: ChainId
    hub_address: Address
    service_version: str
    position: IndexPosition | None
    totals: DeploymentTotals | None
    announced: Announcements | None
    chain_head: Annotated[
        ChainHead | None, Note("Null if no RPC endpoint has answered in the last few minutes, or none is polled.")
    ] = None
    lost_submission_count: Annotated[
        int | None,
        Note("Active Submissions whose envelope or sealed bytes this service lacks, checked daily."),
    ] = None


@dataclass(frozen=True, slots=True)
class RubricDocument:
    """The rubric that readiness reviews apply."""

    rubric_version: str
    rubric_hash: Bytes32
    text: Annotated[str, Note("Markdown.")]
