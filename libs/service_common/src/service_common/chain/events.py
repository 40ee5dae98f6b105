"""The Hub's events as typed values, one class per event, field names those of the ABI in snake_case.

``decode_log`` returns one of these for every log the Hub can emit and raises ``ValueError`` for anything else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from service_common.chain.abi import hub_abi
from service_common.chain.json_rpc import (
    ChainUnavailable,
    account_of,
    block_number,
    hash_of,
    hex_bytes,
    mapping,
    quantity,
)
from service_common.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount, UnixSeconds


@dataclass(frozen=True, slots=True)
class Log:
    """A log of the Hub as the chain reports it."""

    address: Address
    block_number: BlockNumber
    block_hash: Bytes32
    log_index: int
    tx_hash: Bytes32
    topics: tuple[Bytes32, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class BountyCreated:
    bounty_id: BountyId
    poster: Address
    spec_commitment: Bytes32
    guardian_roster_hash: Bytes32
    roster_version: int
    escrow_amount: TokenAmount
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    protocol_fee: TokenAmount
    guardian_fee: TokenAmount
    protocol_fee_recipient: Address
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
    kind: int
    solver: Address
    submission_commitment: Bytes32
    report_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class BountyFinalized:
    bounty_id: BountyId
    outcome: int
    reason: int
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
class RosterPublished:
    version: int
    guardian_roster_hash: Bytes32
    accounts: tuple[Address, ...]
    encryption_keys: tuple[Bytes32, ...]
    quorum: int


@dataclass(frozen=True, slots=True)
class GuardianHeartbeat:
    guardian: Address


@dataclass(frozen=True, slots=True)
class DeliveryKeyPublished:
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
    | RosterPublished
    | GuardianHeartbeat
    | DeliveryKeyPublished
    | FeePolicyChanged
    | OwnershipTransferStarted
    | OwnershipTransferred
)

EVENT_CLASSES: Final[Mapping[str, Callable[..., HubEvent]]] = {
    event.__name__: event
    for event in (
        BountyCreated,
        SubmissionRecorded,
        VerdictRecorded,
        BountyFinalized,
        AwardClaimed,
        RefundClaimed,
        GuardianFeeClaimed,
        ProtocolFeeClaimed,
        RosterPublished,
        GuardianHeartbeat,
        DeliveryKeyPublished,
        FeePolicyChanged,
        OwnershipTransferStarted,
        OwnershipTransferred,
    )
}


def decode_log(log: Log) -> HubEvent:
    """The event behind a log of the Hub; ``ValueError`` when the log is none of the Hub's."""
    event = hub_abi().events.get(log.topics[0]) if log.topics else None
    if event is None or event.name not in EVENT_CLASSES:
        raise ValueError("a log with a topic that the Hub does not emit")
    return EVENT_CLASSES[event.name](**event.decode(log.topics, log.data))


def bounty_of(event: HubEvent) -> BountyId | None:
    """The bounty an event belongs to; None for the Hub's own (rosters, fees, ownership)."""
    return getattr(event, "bounty_id", None)


def parse_log(answer: object) -> Log:
    """A log from ``eth_getLogs`` or a receipt; raises ``ChainUnavailable`` when malformed."""
    fields = mapping(answer)
    topics = fields.get("topics")
    if not isinstance(topics, list):
        raise ChainUnavailable("an RPC endpoint answered a log without topics")
    try:
        data = hex_bytes(fields.get("data"))
    except ValueError as error:
        raise ChainUnavailable("an RPC endpoint answered a log with malformed data") from error
    return Log(
        address=account_of(fields.get("address")),
        block_number=block_number(fields.get("blockNumber")),
        block_hash=hash_of(fields.get("blockHash")),
        log_index=quantity(fields.get("logIndex")),
        tx_hash=hash_of(fields.get("transactionHash")),
        topics=tuple(hash_of(topic) for topic in topics),
        data=data,
    )
