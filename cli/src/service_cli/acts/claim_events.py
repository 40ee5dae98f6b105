"""Events of ``claim``, and of a Guardian's share and sign of life."""

from dataclasses import dataclass
from typing import ClassVar

from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount

from service_cli.chain.events import UnfinalizedOutcome, UnsentCall
from service_cli.ui.event import Count, Event
from service_cli.ui.text import counted


@dataclass(frozen=True, slots=True)
class AwaitedClaim(UnfinalizedOutcome):
    __doc__ = UnfinalizedOutcome.__doc__
    EVENT: ClassVar[str] = "claim.waiting"
    WHEN: ClassVar[str] = "while the outcome is not final"


@dataclass(frozen=True, slots=True)
class PreparedClaim(Event):
    """The amount that the contract's final state owes the claimant, and the call that pulls it."""

    EVENT: ClassVar[str] = "claim.prepared"
    bounty_id: BountyId
    claimant: Address
    function_name: str
    claimable_amount: TokenAmount

    def says(self) -> str:
        what = "award" if self.function_name == "claim" else "refund"
        return f"Bounty {{bounty_id}} owes {{claimable_amount}}, the {what}."


@dataclass(frozen=True, slots=True)
class UnsentClaim(UnsentCall):
    """Only with `--claimant-address`: the simulated call for the wallet to send."""

    EVENT: ClassVar[str] = "claim.transaction_prepared"
    WHEN: ClassVar[str] = "with --claimant-address"


@dataclass(frozen=True, slots=True)
class PaidClaim(Event):
    """The tokens are in the account."""

    EVENT: ClassVar[str] = "claim.claimed"
    SAYS: ClassVar[str] = "Done. {claimable_amount} arrived in your account."
    tx_hash: Bytes32
    block_number: BlockNumber
    claimable_amount: TokenAmount


@dataclass(frozen=True, slots=True)
class DueAmount(Event):
    """With `--all`: one amount that the account can pull by a finalized outcome."""

    EVENT: ClassVar[str] = "claim.due"
    HIDES: ClassVar[tuple[str, ...]] = ("claimant",)
    WHEN: ClassVar[str] = "with --all"
    SAYS: ClassVar[str] = "Bounty {bounty_id} owes you {claimable_amount}: {part}."
    bounty_id: BountyId
    claimant: Address
    part: AmountKind
    claimable_amount: TokenAmount


@dataclass(frozen=True, slots=True)
class ClaimedAmount(Event):
    """With `--all`: this amount is in the account. Several may be of one transaction."""

    EVENT: ClassVar[str] = "claim.part_claimed"
    HIDES: ClassVar[tuple[str, ...]] = ("claimant",)
    WHEN: ClassVar[str] = "with --all"
    SAYS: ClassVar[str] = "Claimed: {amount} of bounty {bounty_id}, {part}."
    bounty_id: BountyId
    claimant: Address
    part: AmountKind
    amount: TokenAmount
    tx_hash: Bytes32
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class ClaimTotal(Event):
    """With `--all`: how many amounts this run claimed (with `--claimant-address`: prepared) and their sum, and the
    bounties that owe something once their outcome is finalized."""

    EVENT: ClassVar[str] = "claim.total"
    WHEN: ClassVar[str] = "with --all"
    claimant: Address
    parts: Count
    amount: TokenAmount
    not_final: tuple[BountyId, ...]

    def says(self) -> str:
        if self.parts:
            return f"Done. {counted(self.parts, 'amount')}, {{amount}} together."
        return "Nothing is due."


@dataclass(frozen=True, slots=True)
class SignOfLife(Event):
    """The sign of life is on chain."""

    EVENT: ClassVar[str] = "guardian_heartbeat.recorded"
    HIDES: ClassVar[tuple[str, ...]] = ("guardian",)
    SAYS: ClassVar[str] = "Done. Your heartbeat is on chain."
    guardian: Address
    tx_hash: Bytes32
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class AwaitedFee(UnfinalizedOutcome):
    __doc__ = UnfinalizedOutcome.__doc__
    EVENT: ClassVar[str] = "guardian_claim_fee.waiting"


@dataclass(frozen=True, slots=True)
class ClaimedFee(Event):
    """The share is in the Guardian's account."""

    EVENT: ClassVar[str] = "guardian_claim_fee.claimed"
    HIDES: ClassVar[tuple[str, ...]] = ("guardian",)
    SAYS: ClassVar[str] = "Done. Your share of bounty {bounty_id} is in your account."
    bounty_id: BountyId
    guardian: Address
    amount: TokenAmount
    tx_hash: Bytes32
    block_number: BlockNumber
