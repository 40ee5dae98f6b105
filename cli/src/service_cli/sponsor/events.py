"""Events of ``sponsor:fund``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount, UnixSeconds, Wei

from service_cli.shell.event import Event
from service_cli.shell.items import Field, Shown
from service_cli.shell.phrases import at, following, short, tokens, transaction
from service_cli.shell.text import ether, printable

if TYPE_CHECKING:
    from service_cli.shell.render.screen import Screen


@dataclass(frozen=True, slots=True)
class SponsoringPreview(Event):
    """With `--check`: what sending the file would create, and the most that its gas may cost, in wei."""

    EVENT: ClassVar[str] = "sponsor_fund.checked"
    WHEN: ClassVar[str] = "with --check"
    spec_commitment: Bytes32
    title: str
    poster: Address
    escrow_amount: TokenAmount
    valid_before: UnixSeconds
    gas_cost: Wei

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{short(self.poster)} signed for this bounty, and somebody else may send it."
        yield Field("Page", printable(self.title, 200))
        yield Field("Escrow", f"{tokens(self.escrow_amount, screen)} of the Poster, none of yours")
        yield Field("You pay", f"at most {ether(self.gas_cost)} for gas")
        yield Field("Good until", at(self.valid_before, screen))


@dataclass(frozen=True, slots=True)
class SponsoredBounty(Event):
    """The bounty is on chain, no matter who sent it; printed again by every later run over the same file."""

    EVENT: ClassVar[str] = "sponsor_fund.bounty_created"
    tx_hash: Bytes32
    block_number: BlockNumber
    bounty_id: BountyId
    spec_commitment: Bytes32
    poster: Address

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"{screen.good('Done.')} Bounty {self.bounty_id} of {short(self.poster)} is funded."
        yield from transaction(self.tx_hash, screen)
        yield following(f"bounty:show {self.bounty_id}")
