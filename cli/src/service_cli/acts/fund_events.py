"""Events of the Poster's commands."""

from dataclasses import dataclass
from typing import ClassVar, Final

from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, TokenAmount, UnixSeconds, Wei

from service_cli.ui.event import Count, Event


@dataclass(frozen=True, slots=True)
class PublishedPage(Event):
    """The page is published and every field of the answer agrees; the authorization comes next."""

    EVENT: ClassVar[str] = "publish_fund.publication_prepared"
    HIDES: ClassVar[tuple[str, ...]] = ("byte_length", "poster", "hub_address")
    SAYS: ClassVar[str] = "The challenge page is published. The service and this client read the same terms from it."
    spec_commitment: Bytes32
    byte_length: Count
    poster: Address
    hub_address: Address
    escrow_amount: TokenAmount
    submission_deadline: UnixSeconds


@dataclass(frozen=True, slots=True)
class ApprovedAllowance(Event):
    """Only on the allowance path: the Hub may take exactly the escrow, once."""

    EVENT: ClassVar[str] = "publish_fund.token_approved"
    HIDES: ClassVar[tuple[str, ...]] = ("poster", "spender")
    WHEN: ClassVar[str] = "allowance only"
    SAYS: ClassVar[str] = "The Hub may take exactly {amount} from your account, once."
    tx_hash: Bytes32
    block_number: BlockNumber
    poster: Address
    spender: Address
    amount: TokenAmount


ANEW: Final = "poster:new NEW_PAGE"
"""The command that offers the text of a page anew, once its deadline has passed."""


@dataclass(frozen=True, slots=True)
class FundedBounty(Event):
    """The bounty is on chain. Printed again by every later run over the same page."""

    EVENT: ClassVar[str] = "publish_fund.bounty_created"
    HIDES: ClassVar[tuple[str, ...]] = ("spec_commitment",)
    SAYS: ClassVar[str] = "Done. Bounty {bounty_id} is funded."
    tx_hash: Bytes32
    block_number: BlockNumber
    bounty_id: BountyId
    spec_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class ActiveGuardian:
    """A Guardian of the current roster; ``last_active_at`` is null if it has not been active yet."""

    guardian_address: Address
    last_active_at: UnixSeconds | None


@dataclass(frozen=True, slots=True)
class FundingPreview(Event):
    """With `--check`: what funding the page would fix and cost. Times are seconds, amounts smallest units of
    `escrow_token`. `funded_as` names the bounties that exist on this page already (of `--poster-address` or the
    configured key's account, else of anyone); null if the client does not know at which block the Hub's log begins.
    `gas_cost_at_most` is in wei, at the endpoint's present fees and with the most gas that the client signs; where no
    account is known it is that of the way which costs more."""

    EVENT: ClassVar[str] = "publish_fund.checked"
    WHEN: ClassVar[str] = "with --check"
    byte_length: Count
    spec_commitment: Bytes32
    chain_id: ChainId
    hub_address: Address
    escrow_amount: TokenAmount
    escrow_token: str
    protocol_fee: TokenAmount
    guardian_fee: TokenAmount
    winner_award: TokenAmount
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    guardian_roster_hash: Bytes32
    quorum: Count
    guardians: tuple[ActiveGuardian, ...]
    gas_cost_at_most: Wei
    funded_as: tuple[BountyId, ...] | None

    def says(self) -> str:
        if self.funded_as:
            return "This page was funded before, as bounty {funded_as}."
        return "Ready. The page can be funded. Nothing was signed or sent."
