"""What a deployment publishes: its chain, its Hub, its keys and its rubric."""

from dataclasses import dataclass
from typing import Annotated

from service_common.crypto.beacon_info import BeaconInfo
from service_common.domain.roster import Roster
from service_common.shapes import Note
from service_common.types import Address, Bytes32, ChainId, TokenAmount


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
    """What the Hub and the service take at least and at most."""

    min_escrow_amount: TokenAmount
    min_judging_window_seconds: int
    max_judging_window_seconds: int
    min_submission_window_seconds: int
    max_submission_window_seconds: int
    max_challenge_bytes: int
    max_ciphertext_bytes: int


@dataclass(frozen=True, slots=True)
class Deployment:
    """What a client needs to know of this deployment."""

    chain_id: ChainId
    hub_address: Address
    escrow_token: TokenDescription
    fee_policy: CurrentFees | None
    guardian_roster: Roster | None
    limits: HubLimits
    reveal_delay_seconds: int
    block_time_seconds: float
    freshness_window_blocks: int
    beacon: BeaconInfo
    public_host: Annotated[str, Note("The audience of signatures.")]


@dataclass(frozen=True, slots=True)
class RubricDocument:
    """The rubric that readiness reviews apply."""

    rubric_version: str
    rubric_hash: Bytes32
    text: Annotated[str, Note("Markdown.")]
