"""The common parts of several roles' events: calls that somebody else sends, the wait for finality, opened work."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, UnixSeconds

from service_cli.ui.event import Count, Event, JsonObject
from service_cli.ui.items import Field, Shown
from service_cli.ui.phrases import at, counted, size

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


@dataclass(frozen=True, slots=True)
class OpenedFiles(Event):
    """The files are below `output_dir`, all of them authentic. `renamed_count` names, directories included, were
    laid out as others because tools would obey them ([judging.md](judging.md))."""

    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    output_dir: str
    file_count: Count
    byte_length: Count
    renamed_count: Count

    def opened(self, screen: "Screen") -> Iterator[Shown]:
        """Where the work is, and whose."""
        files = f"{counted(self.file_count, 'file')}, {size(self.byte_length)}"
        yield f"{screen.good('Done.')} The work is in {self.output_dir}: {files}."
        yield Field("Bounty", str(self.bounty_id))
        yield Field("Solver", self.solver, whole=True)
        yield Field("Submission", self.submission_commitment, whole=True)
        if self.renamed_count:
            names = counted(self.renamed_count, "name")
            yield Field("Renamed", f"{names} that tools would obey: .git is inert_.git_; --original-names keeps them")


@dataclass(frozen=True, slots=True)
class UnfinalizedOutcome(Event):
    """Once, where the outcome is in block `block_number` and the chain has finalized only `finalized_block_number`:
    the command waits. `final_at` is about when it will go on, by the chain's time and how far finality is behind
    now."""

    bounty_id: BountyId
    block_number: BlockNumber
    finalized_block_number: BlockNumber
    final_at: UnixSeconds

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield (
            f"The outcome of bounty {self.bounty_id} is in block {self.block_number}, but the chain "
            f"has finalized only block {self.finalized_block_number}; this waits until about "
            f"{at(self.final_at, screen)}."
        )


@dataclass(frozen=True, slots=True)
class UnsentCall(Event):
    """A call of the Hub for a wallet outside to send."""

    FOR_PROGRAMS: ClassVar[bool] = True

    chain_id: ChainId
    to: Address
    value: Literal["0"]
    data: Annotated[str, Note(pattern="^0x([0-9a-f]{2})*$")]
    function_name: str


@dataclass(frozen=True, slots=True)
class ApprovalRequired(Event):
    """Only with `--solver-address`: sign `typed_data` in the wallet and answer with one line
    of hex on stdin. `typed_data` keeps the key names of EIP-712."""

    EVENT: ClassVar[str] = "submit.approval_required"
    WHEN: ClassVar[str] = "with --solver-address; answer on stdin"
    FOR_PROGRAMS: ClassVar[bool] = True
    solver: Address
    typed_data: JsonObject
