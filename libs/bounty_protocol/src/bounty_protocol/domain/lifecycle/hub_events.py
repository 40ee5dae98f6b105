"""The Hub's events as typed values, one class per event, with the ABI's names in snake_case.

Numbers of the contract that name something are enums here. ``bounty_protocol.chain.events`` reads events from logs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

from bounty_protocol.domain.lifecycle.states import HubEnum, Outcome, Schedule, SettlementReason, VerdictKind
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, RosterVersion, TokenAmount, UnixSeconds

E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where in the chain a fact was set."""

    block_number: BlockNumber
    block_hash: Bytes32
    log_index: int
    tx_hash: Bytes32
    time: UnixSeconds

    @property
    def place(self) -> tuple[BlockNumber, int]:
        """The place of the event, for sorting in chain order."""
        return self.block_number, self.log_index


@dataclass(frozen=True, slots=True)
class Logged(Generic[E_co]):
    """An event and where it was logged."""

    event: E_co
    origin: Origin


@dataclass(frozen=True, slots=True)
class BountyTerms:
    """A bounty's terms, fixed at its creation, as event and ``getBounty`` state them; amounts in smallest units."""

    poster: Address
    spec_commitment: Bytes32
    guardian_roster_hash: Bytes32
    roster_version: RosterVersion
    escrow_amount: TokenAmount
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    protocol_fee: TokenAmount
    guardian_fee: TokenAmount
    protocol_fee_recipient: Address

    @property
    def schedule(self) -> Schedule:
        """The chain times."""
        return Schedule(self.submission_deadline, self.reveal_at, self.judging_deadline)

    @property
    def award(self) -> TokenAmount:
        """What a winner gets, after the fees."""
        return TokenAmount(self.escrow_amount - self.protocol_fee - self.guardian_fee)

    @property
    def judging_window(self) -> int:
        """Seconds from the reveal point to the judging deadline."""
        return self.judging_deadline - self.reveal_at


@dataclass(frozen=True, slots=True)
class BountyCreated(BountyTerms):
    bounty_id: BountyId
    authorization_nonce: Bytes32


@dataclass(frozen=True, slots=True)
class SubmissionRecorded:
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class VerdictRecorded:
    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address
    submission_commitment: Bytes32
    report_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class BountyFinalized:
    bounty_id: BountyId
    outcome: Outcome
    reason: SettlementReason
    winner: Address
    submission_commitment: Bytes32
    award: TokenAmount
    refund: TokenAmount
    protocol_fee: TokenAmount
    guardian_fee_each: TokenAmount
    guardian_fee_count: int


@dataclass(frozen=True, slots=True)
class AwardClaimed:
    bounty_id: BountyId
    solver: Address
    amount: TokenAmount


@dataclass(frozen=True, slots=True)
class RefundClaimed:
    bounty_id: BountyId
    poster: Address
    amount: TokenAmount


@dataclass(frozen=True, slots=True)
class GuardianFeeClaimed:
    bounty_id: BountyId
    guardian: Address
    amount: TokenAmount


@dataclass(frozen=True, slots=True)
class ProtocolFeeClaimed:
    bounty_id: BountyId
    recipient: Address
    amount: TokenAmount


@dataclass(frozen=True, slots=True)
class HubConfig:
    """The constants of a Hub, as its constructor takes them; fees in basis points, escrow in smallest units."""

    token: Address
    owner: Address
    reveal_delay: int
    min_submission_window: int
    max_submission_window: int
    min_judging_window: int
    max_judging_window: int
    min_escrow: TokenAmount
    publication_delay: int
    protocol_fee_bps: int
    guardian_fee_bps: int
    protocol_fee_recipient: Address


@dataclass(frozen=True, slots=True)
class Deployed:
    config: HubConfig


@dataclass(frozen=True, slots=True)
class RosterPublished:
    version: RosterVersion
    guardian_roster_hash: Bytes32
    accounts: tuple[Address, ...]
    encryption_keys: tuple[Bytes32, ...]
    quorum: int
    effective_from: UnixSeconds


@dataclass(frozen=True, slots=True)
class GuardianHeartbeat:
    guardian: Address


@dataclass(frozen=True, slots=True)
class DeliveryKeyPublished:
    key: Bytes32
    effective_from: UnixSeconds


@dataclass(frozen=True, slots=True)
class DeliveryKeyWithdrawn:
    key: Bytes32


@dataclass(frozen=True, slots=True)
class FeePolicyChanged:
    protocol_fee_bps: int
    guardian_fee_bps: int
    recipient: Address


@dataclass(frozen=True, slots=True)
class OwnershipTransferStarted:
    previous_owner: Address
    new_owner: Address


@dataclass(frozen=True, slots=True)
class OwnershipTransferred:
    previous_owner: Address
    new_owner: Address


HubEvent = (
    BountyCreated
    | SubmissionRecorded
    | VerdictRecorded
    | BountyFinalized
    | AwardClaimed
    | RefundClaimed
    | GuardianFeeClaimed
    | ProtocolFeeClaimed
    | Deployed
    | RosterPublished
    | GuardianHeartbeat
    | DeliveryKeyPublished
    | DeliveryKeyWithdrawn
    | FeePolicyChanged
    | OwnershipTransferStarted
    | OwnershipTransferred
)


EVENT_CLASSES: Final[Mapping[str, type[HubEvent]]] = {event.__name__: event for event in get_args(HubEvent)}
"""By the name that the ABI has."""


def _fields(event: type[HubEvent]) -> dict[str, Any]:
    hints = get_type_hints(event)
    return {field.name: hints[field.name] for field in fields(event)}


EVENT_FIELDS: Final[Mapping[type, Mapping[str, Any]]] = {event: _fields(event) for event in EVENT_CLASSES.values()}
"""The names of each event's fields, and their types."""


def event_of(kind: type[E], values: Mapping[str, Any]) -> E:
    """Build an event from the ABI's values, or from a row that has them; ignore other keys.

    Numbers become amounts and enums. ``ValueError`` for one that the Hub does not emit.
    """
    return kind(**{name: values[name] if read is None else read(values[name]) for name, read in _READERS[kind]})


def bounty_of(event: HubEvent) -> BountyId | None:
    """Return the bounty an event belongs to; None for the Hub's own (rosters, fees, ownership)."""
    return getattr(event, "bounty_id", None)


def _reader(hint: Any) -> Callable[[Any], object] | None:
    if hint is TokenAmount:
        return int
    if hint is HubConfig:
        return _config
    return partial(_member, hint) if isinstance(hint, type) and issubclass(hint, HubEnum) else None


def _config(values: tuple[Any, ...]) -> HubConfig:
    return HubConfig(*values)


def _member(kind: type[HubEnum], number: int) -> HubEnum:
    member = kind.of_number(number)
    if member is None:
        raise ValueError(f"an event without its {kind.__name__}")
    return member


_READERS: Final[Mapping[type, tuple[tuple[str, Callable[[Any], object] | None], ...]]] = {
    event: tuple((name, _reader(hint)) for name, hint in found.items()) for event, found in EVENT_FIELDS.items()
}
