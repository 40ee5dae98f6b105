"""The common parts of several roles' events: calls that somebody else sends, the wait for finality, opened work."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, ChainId, UnixSeconds

from service_cli.ui.event import Count, Event, JsonObject


@dataclass(frozen=True, slots=True)
class OpenedFiles(Event):
    """The files are below `output_dir`, all of them authentic. `renamed_count` names, directories included, were
    laid out as others because tools would obey them ([Guardian](../guardian.md#what-opened-work-looks-like))."""

    HIDES: ClassVar[tuple[str, ...]] = ("bounty_id", "submission_commitment")
    SAYS: ClassVar[str] = "Done. The work of {solver} is in {output_dir}."
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    output_dir: str
    file_count: Count
    byte_length: Count
    renamed_count: Count


@dataclass(frozen=True, slots=True)
class UnfinalizedOutcome(Event):
    """Once, where the outcome is in block `block_number` and the chain has finalized only `finalized_block_number`:
    the command waits. `final_at` is about when it will go on, by the chain's time and how far finality is behind
    now."""

    SAYS: ClassVar[str] = "The outcome of bounty {bounty_id} is not final yet. Waiting until about {final_at}."
    bounty_id: BountyId
    block_number: BlockNumber
    finalized_block_number: BlockNumber
    final_at: UnixSeconds


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
