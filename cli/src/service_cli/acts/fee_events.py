"""Events of ``guardian:heartbeat`` and ``guardian:claim-fee``, which start without those of the other commands."""

from dataclasses import dataclass
from typing import ClassVar

from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount

from service_cli.chain.events import UnfinalizedOutcome
from service_cli.ui.event import Event


@dataclass(frozen=True, slots=True)
class SignOfLife(Event):
    """The sign of life is on chain."""

    EVENT: ClassVar[str] = "guardian_heartbeat.recorded"
    HIDES: ClassVar[tuple[str, ...]] = ("guardian",)
    SAYS: ClassVar[str] = "Done. Your sign of life is on chain."
    guardian: Address
    tx_hash: Bytes32
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class AwaitedFee(UnfinalizedOutcome):
    __doc__ = UnfinalizedOutcome.__doc__
    EVENT: ClassVar[str] = "guardian_claim_fee.waiting"
    SAYS: ClassVar[str] = "The outcome of bounty {bounty_id} is not final yet. Waiting until about {final_at}."


@dataclass(frozen=True, slots=True)
class ClaimedFee(Event):
    """The share is in the Guardian's account."""

    EVENT: ClassVar[str] = "guardian_claim_fee.claimed"
    HIDES: ClassVar[tuple[str, ...]] = ("guardian",)
    SAYS: ClassVar[str] = "Done. Your share of bounty {bounty_id} is in your account."
    bounty_id: BountyId
    guardian: Address
    amount: TokenAmount | None
    tx_hash: Bytes32
    block_number: BlockNumber
