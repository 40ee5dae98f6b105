"""Events of ``guardian:heartbeat`` and ``guardian:claim-fee``, which start without those of the other commands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount

from service_cli.chain.events import UnfinalizedOutcome
from service_cli.ui.event import Event
from service_cli.ui.items import Field, Shown
from service_cli.ui.phrases import following, tokens, transaction

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


@dataclass(frozen=True, slots=True)
class SignOfLife(Event):
    """The sign of life is on chain."""

    EVENT: ClassVar[str] = "guardian_heartbeat.recorded"
    guardian: Address
    tx_hash: Bytes32
    block_number: BlockNumber

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.good('Done.')} Your sign of life is on chain, in block {self.block_number}."
        yield from transaction(self.tx_hash, screen)
        yield Field("Next", "nothing; Posters see in the roster when you were last active")


@dataclass(frozen=True, slots=True)
class AwaitedFee(UnfinalizedOutcome):
    __doc__ = UnfinalizedOutcome.__doc__
    EVENT: ClassVar[str] = "guardian_claim_fee.waiting"


@dataclass(frozen=True, slots=True)
class ClaimedFee(Event):
    """The share is in the Guardian's account."""

    EVENT: ClassVar[str] = "guardian_claim_fee.claimed"
    bounty_id: BountyId
    guardian: Address
    amount: TokenAmount | None
    tx_hash: Bytes32
    block_number: BlockNumber

    def text(self, screen: "Screen") -> Iterator[Shown]:
        amount = self.amount
        paid = "The Guardian's share" if amount is None else tokens(amount, screen)
        yield f"{screen.good('Done.')} {paid} of bounty {self.bounty_id} went to your account."
        yield from transaction(self.tx_hash, screen)
        yield following("status")
