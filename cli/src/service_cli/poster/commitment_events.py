"""The event of ``spec-commitment``, which starts without those of the other commands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bounty_protocol.types import Bytes32

from service_cli.ui.event import Count, Event
from service_cli.ui.items import Field, Shown

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


@dataclass(frozen=True, slots=True)
class DerivedCommitment(Event):
    """keccak256 of the exact bytes."""

    EVENT: ClassVar[str] = "spec_commitment.derived"
    spec_commitment: Bytes32
    byte_length: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        from service_cli.ui.phrases import size  # with all that it takes to show amounts and times

        yield f"The spec commitment of these {size(self.byte_length)}, the keccak256 of exactly them:"
        yield Field("Commitment", self.spec_commitment, whole=True)
