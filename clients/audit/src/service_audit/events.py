"""The Hub's log, decoded by the signatures of its events alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import eth_abi
from eth_utils.crypto import keccak

from service_audit.http import MALFORMED, Unread
from service_audit.node import hexadecimal, octets, quantity

SIGNATURES: Final = """
BountyCreated(uint256 indexed bountyId, address indexed poster, bytes32 indexed specCommitment,
    bytes32 guardianRosterHash, uint256 rosterVersion, uint256 escrowAmount, uint256 submissionDeadline,
    uint256 revealAt, uint256 judgingDeadline, uint256 protocolFee, uint256 guardianFee, address protocolFeeRecipient,
    bytes32 authorizationNonce)
SubmissionRecorded(uint256 indexed bountyId, address indexed solver, bytes32 indexed submissionCommitment)
VerdictRecorded(uint256 indexed bountyId, address indexed guardian, uint8 kind, address solver,
    bytes32 submissionCommitment, bytes32 reportCommitment)
BountyFinalized(uint256 indexed bountyId, uint8 outcome, uint8 reason, address indexed winner,
    bytes32 submissionCommitment, uint256 award, uint256 refund, uint256 protocolFee, uint256 guardianFeeEach,
    uint256 guardianFeeCount)
AwardClaimed(uint256 indexed bountyId, address indexed solver, uint256 amount)
RefundClaimed(uint256 indexed bountyId, address indexed poster, uint256 amount)
GuardianFeeClaimed(uint256 indexed bountyId, address indexed guardian, uint256 amount)
ProtocolFeeClaimed(uint256 indexed bountyId, address indexed recipient, uint256 amount)
Deployed((address,address,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,uint256,address) config)
RosterPublished(uint256 indexed version, bytes32 indexed guardianRosterHash, address[] accounts,
    bytes32[] encryptionKeys, uint256 quorum, uint256 effectiveFrom)
GuardianHeartbeat(address indexed guardian)
DeliveryKeyPublished(bytes32 indexed key, uint256 effectiveFrom)
DeliveryKeyWithdrawn(bytes32 indexed key)
FeePolicyChanged(uint256 protocolFeeBps, uint256 guardianFeeBps, address indexed recipient)
OwnershipTransferStarted(address indexed previousOwner, address indexed newOwner)
OwnershipTransferred(address indexed previousOwner, address indexed newOwner)
"""
TRANSFER: Final = "0x" + keccak(text="Transfer(address,address,uint256)").hex()
ZERO_ADDRESS: Final = "0x" + "00" * 20
ZERO_BYTES32: Final = "0x" + "00" * 32


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Where a log is; ``time`` is its block's, in seconds."""

    block_number: int
    block_hash: str
    log_index: int
    tx_hash: str
    time: int = 0


@dataclass(frozen=True, slots=True)
class HubLog:
    """One event: integers, hex in lower case, and lists of them, by the names of the ABI in snake_case."""

    name: str
    fields: Mapping[str, Any]
    place: LogPlace
    digest: bytes = b""
    """The hash of its topics, then the hash of its data: what a log digest is made of."""

    @property
    def bounty_id(self) -> int | None:
        """The bounty that it is about, where it is about one."""
        found = self.fields.get("bounty_id")
        return found if isinstance(found, int) else None

    def number(self, name: str) -> int:
        """Return an integer field."""
        return int(self.fields[name])

    def text(self, name: str) -> str:
        """Return a field in hex."""
        return str(self.fields[name])


@dataclass(frozen=True, slots=True)
class Signature:
    """The fields of one event in the order of the ABI: name, type, and whether it is a topic."""

    name: str
    fields: tuple[tuple[str, str, bool], ...]


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _signatures() -> dict[str, Signature]:
    found = dict[str, Signature]()
    for name, inner in re.findall(r"(?s)^(\w+)\((.*?)\)$", re.sub(r"\n +", " ", SIGNATURES), re.MULTILINE):
        parts = [part.split() for part in re.findall(r"(?:\([^)]*\)|[^,()])+", inner)]
        fields = tuple((_snake(words[-1]), words[0], "indexed" in words) for words in parts)
        text = f"{name}({','.join(kind for _, kind, _ in fields)})"
        found["0x" + keccak(text=text).hex()] = Signature(name, fields)
    return found


BY_TOPIC: Final = _signatures()


def plain(value: Any) -> Any:
    """Return what eth-abi decoded as integers, hex in lower case, and lists."""
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, str):
        return value.lower()
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


def place_of(log: Mapping[str, Any], time: int = 0) -> LogPlace:
    """Return the place of a log as JSON-RPC has it."""
    return LogPlace(
        quantity(log["blockNumber"]),
        hexadecimal(log["blockHash"], 32),
        quantity(log["logIndex"]),
        hexadecimal(log["transactionHash"], 32),
        time,
    )


def decode(log: Mapping[str, Any], time: int) -> HubLog:
    """Decode one log of the Hub; raise ``Unread`` for an event that docs/hub.md does not name."""
    topics = tuple(octets(topic, 32) for topic in log["topics"])
    signature = BY_TOPIC.get("0x" + topics[0].hex()) if topics else None
    if signature is None:
        raise Unread(f"a log that is no event of the Hub, in block {quantity(log['blockNumber'])}")
    indexed = [(name, kind) for name, kind, is_topic in signature.fields if is_topic]
    rest = [(name, kind) for name, kind, is_topic in signature.fields if not is_topic]
    if len(indexed) != len(topics) - 1:
        raise Unread(f"{signature.name} with {len(topics)} topics")
    data = octets(log["data"])
    try:
        values = {
            name: plain(eth_abi.abi.decode([kind], topic)[0])
            for (name, kind), topic in zip(indexed, topics[1:], strict=True)
        }
        decoded = eth_abi.abi.decode([kind for _, kind in rest], data)
    except (*MALFORMED, eth_abi.exceptions.DecodingError) as error:
        raise Unread(f"{signature.name} that cannot be decoded: {type(error).__name__}") from None
    values |= {name: plain(value) for (name, _), value in zip(rest, decoded, strict=True)}
    ordered = {name: values[name] for name, _, _ in signature.fields}
    return HubLog(signature.name, ordered, place_of(log, time), keccak(b"".join(topics)) + keccak(data))
