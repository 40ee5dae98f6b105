"""Events of ``guardian:verdict`` and ``guardian:deliver-key``."""

from dataclasses import dataclass
from typing import ClassVar

from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.ui.event import Event


@dataclass(frozen=True, slots=True)
class PublishedVerdict(Event):
    """The written Verdict is stored."""

    EVENT: ClassVar[str] = "guardian_verdict.published"
    HIDES: ClassVar[tuple[str, ...]] = ("guardian", "kind", "solver", "submission_commitment")
    SAYS: ClassVar[str] = "Your written Verdict on bounty {bounty_id} is published. Anyone can read it."
    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class ReadBackVerdict(Event):
    """It reads back byte for byte."""

    EVENT: ClassVar[str] = "guardian_verdict.read_back"
    HIDES: ClassVar[tuple[str, ...]] = (
        "bounty_id",
        "guardian",
        "kind",
        "solver",
        "submission_commitment",
        "report_commitment",
    )
    SAYS: ClassVar[str] = "It reads back byte for byte."
    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class AnchoredVerdict(Event):
    """The same Verdict is on chain."""

    EVENT: ClassVar[str] = "guardian_verdict.recorded"
    HIDES: ClassVar[tuple[str, ...]] = ("guardian", "report_commitment")
    SAYS: ClassVar[str] = "Done. Your Verdict on bounty {bounty_id} is recorded on chain: {kind}."
    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32
    tx_hash: Bytes32
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class DeliveredKey(Event):
    """The winning key is with the delivery service; `created` is false when it was there before."""

    EVENT: ClassVar[str] = "guardian_deliver_key.stored"
    HIDES: ClassVar[tuple[str, ...]] = ("solver", "submission_commitment", "created")
    SAYS: ClassVar[str] = "Done. The Poster of bounty {bounty_id} can open the winning work."
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    created: bool
