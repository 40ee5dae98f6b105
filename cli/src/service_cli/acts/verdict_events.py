"""Events of ``guardian:verdict`` and ``guardian:deliver-key``."""

from dataclasses import dataclass
from typing import ClassVar

from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.ui.event import Event


@dataclass(frozen=True, slots=True)
class PublishedVerdict(Event):
    """The written Verdict is stored, and reads back byte for byte."""

    EVENT: ClassVar[str] = "guardian_verdict.published"
    HIDES: ClassVar[tuple[str, ...]] = ("guardian", "kind", "solver", "submission_commitment")
    SAYS: ClassVar[str] = "Your written Verdict on bounty {bounty_id} is published; the service returns the same bytes."
    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class AnchoredVerdict(PublishedVerdict):
    """The same Verdict is on chain."""

    EVENT: ClassVar[str] = "guardian_verdict.recorded"
    HIDES: ClassVar[tuple[str, ...]] = ("guardian", "report_commitment")
    SAYS: ClassVar[str] = "Done. Your Verdict on bounty {bounty_id} is recorded on chain: {kind}."
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
