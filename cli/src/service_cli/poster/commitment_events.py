"""The event of ``spec-commitment``, which starts without those of the other commands."""

from dataclasses import dataclass
from typing import ClassVar

from bounty_protocol.types import Bytes32

from service_cli.ui.event import Count, Event


@dataclass(frozen=True, slots=True)
class DerivedCommitment(Event):
    """keccak256 of the exact bytes."""

    EVENT: ClassVar[str] = "spec_commitment.derived"
    SAYS: ClassVar[str] = "The commitment is the keccak256 of exactly these {byte_length}."
    spec_commitment: Bytes32
    byte_length: Count
