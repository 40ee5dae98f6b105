"""Events of ``claim``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from bounty_protocol.domain.money import AmountKind
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount

from service_cli.chain.events import UnfinalizedOutcome, UnsentCall
from service_cli.ui.event import Code, Count, Event
from service_cli.ui.items import Field, Shown
from service_cli.ui.phrases import counted, following, short, tokens, transaction

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


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

    def text(self, screen: "Screen") -> Iterator[Shown]:
        what = "award" if self.function_name == "claim" else "refund"
        yield (
            f"Bounty {self.bounty_id} owes {short(self.claimant)} {tokens(self.claimable_amount, screen)}, the {what}."
        )


@dataclass(frozen=True, slots=True)
class UnsentClaim(UnsentCall):
    """Only with `--claimant-address`: the simulated call for the wallet to send."""

    EVENT: ClassVar[str] = "claim.transaction_prepared"
    WHEN: ClassVar[str] = "with --claimant-address"


@dataclass(frozen=True, slots=True)
class PaidClaim(Event):
    """The tokens are in the account."""

    EVENT: ClassVar[str] = "claim.claimed"
    tx_hash: Bytes32
    block_number: BlockNumber
    claimable_amount: TokenAmount

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.good('Done.')} {tokens(self.claimable_amount, screen)} are in your account."
        yield from transaction(self.tx_hash, screen)
        yield following("status")


_PARTS: Final = {
    AmountKind.WINNER_AWARD: "the award",
    AmountKind.POSTER_REFUND: "the refund",
    AmountKind.GUARDIAN_FEE: "a Guardian's share",
    AmountKind.PROTOCOL_FEE: "the protocol fee",
}


@dataclass(frozen=True, slots=True)
class DueAmount(Event):
    """With `--all`: one amount that the account can pull by a finalized outcome."""

    EVENT: ClassVar[str] = "claim.due"
    WHEN: ClassVar[str] = "with --all"
    bounty_id: BountyId
    claimant: Address
    part: AmountKind
    claimable_amount: TokenAmount

    def text(self, screen: "Screen") -> Iterator[Shown]:
        amount = tokens(self.claimable_amount, screen)
        yield f"Bounty {self.bounty_id} owes you {amount}, {_PARTS[self.part]}."


@dataclass(frozen=True, slots=True)
class ClaimedAmount(Event):
    """With `--all`: this amount is in the account. Several may be of one transaction."""

    EVENT: ClassVar[str] = "claim.part_claimed"
    WHEN: ClassVar[str] = "with --all"
    bounty_id: BountyId
    claimant: Address
    part: AmountKind
    amount: TokenAmount
    tx_hash: Bytes32
    block_number: BlockNumber

    def text(self, screen: "Screen") -> Iterator[Shown]:
        amount, part = tokens(self.amount, screen), _PARTS[self.part]
        yield f"{screen.good('Claimed:')} {amount} of bounty {self.bounty_id}, {part}."
        yield from transaction(self.tx_hash, screen)


@dataclass(frozen=True, slots=True)
class UnclaimedAmount(Event):
    """With `--all`: the Hub refuses this amount, and why; the others are claimed."""

    EVENT: ClassVar[str] = "claim.part_not_claimed"
    WHEN: ClassVar[str] = "with --all"
    bounty_id: BountyId
    claimant: Address
    part: AmountKind
    code: Code
    message: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        part = _PARTS[self.part]
        yield f"{screen.bad('Not claimed:')} {part} of bounty {self.bounty_id}. {self.message}"


@dataclass(frozen=True, slots=True)
class ClaimTotal(Event):
    """With `--all`: how many amounts this run claimed (with `--claimant-address`: prepared) and their sum, how many
    the Hub refused, and the bounties that owe something once their outcome is finalized."""

    EVENT: ClassVar[str] = "claim.total"
    WHEN: ClassVar[str] = "with --all"
    claimant: Address
    parts: Count
    amount: TokenAmount
    not_claimed: Count
    not_final: tuple[BountyId, ...]

    def text(self, screen: "Screen") -> Iterator[Shown]:
        count, left = self.parts, self.not_claimed
        if count:
            amount = tokens(self.amount, screen)
            yield f"{screen.good('Done.')} {counted(count, 'amount')}, {amount} together."
        elif left:
            yield f"{screen.bad('Nothing was claimed')} for {self.claimant}."
        else:
            so_far = " yet" if self.not_final else ""
            yield f"Nothing is due to {self.claimant}{so_far}."
        if left:
            yield Field("Not claimed", screen.bad(f"{counted(left, 'amount')}, which the Hub refused"))
        if waiting_for := self.not_final:
            yield Field("Not final", f"the outcome of bounty {', '.join(map(str, waiting_for))}; run it again later")
        yield following("status")
