"""Events of the Guardian's commands."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.acts.fee_events import AwaitedFee, ClaimedFee, SignOfLife  # noqa: F401  # for the help
from service_cli.chain.events import OpenedFiles
from service_cli.guardian.judgeable_events import (
    JudgeableBounty,  # noqa: F401  # for the help
    OwedDelivery,  # noqa: F401  # for the help
)
from service_cli.ui.event import Code, Count, Event, Position
from service_cli.ui.text import counted


@dataclass(frozen=True, slots=True)
class ListedSubmission(Event):
    """Where no Submission was named by Solver and commitment: one of the bounty, by the Hub's log, oldest first.
    `number` is what `--submission` takes, `of` how many there are."""

    EVENT: ClassVar[str] = "guardian_open.submission_listed"
    SAYS: ClassVar[str] = "Submission {number} of {of} by {solver}"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    number: Position
    of: Count
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class VerifiedSubmission(Event):
    """Envelope, commitment and contract agree, and the key fits."""

    EVENT: ClassVar[str] = "guardian_open.submission_verified"
    SAYS: ClassVar[str] = "The Submission of {solver} is the one on chain, and your key opens it."
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class OpenedSubmission(OpenedFiles):
    __doc__ = OpenedFiles.__doc__
    EVENT: ClassVar[str] = "guardian_open.artifact_opened"
    SAYS: ClassVar[str] = "Done. The work is in {output_dir}."


@dataclass(frozen=True, slots=True)
class UnopenedSubmission(Event):
    """Of a whole bounty: this Submission could not be opened, and why, with the fields of a refusal; the others are
    opened."""

    EVENT: ClassVar[str] = "guardian_open.submission_not_opened"
    SAYS: ClassVar[str] = "Not opened: Submission {number}. {message}"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    number: Position
    code: Code
    message: str
    next_action: str


@dataclass(frozen=True, slots=True)
class OpenedBounty(Event):
    """Of a whole bounty: how many Submissions this run opened, an earlier one had opened, and could not be opened.
    Where that is any, `guardian_open.refused` follows. `left_out` are the numbers of those that `--limit` left out."""

    EVENT: ClassVar[str] = "guardian_open.finished"
    WHEN: ClassVar[str] = "for a whole bounty"
    bounty_id: BountyId
    output_dir: str
    opened: Count
    opened_before: Count
    not_opened: Count
    left_out: tuple[int, ...]

    def says(self) -> str:
        if not (self.opened or self.opened_before or self.not_opened or self.left_out):
            return "Bounty {bounty_id} has no Submission: there is nothing to open or to judge."
        return f"Done. {counted(self.opened, 'Submission')} of bounty {{bounty_id}} opened below {{output_dir}}."


@dataclass(frozen=True, slots=True)
class PublishedVerdict(Event):
    """The written Verdict is stored."""

    EVENT: ClassVar[str] = "guardian_verdict.published"
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
    SAYS: ClassVar[str] = "Done. The Poster of bounty {bounty_id} can open the winning work."
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    created: bool


@dataclass(frozen=True, slots=True)
class NewEncryptionKey(Event):
    """`recipient` is the public key as age writes it; `key_count` counts the keys of the file, the new one
    included."""

    EVENT: ClassVar[str] = "guardian_new_key.written"
    SAYS: ClassVar[str] = "Done. A new encryption key is in {path}. Back it up and keep older keys."
    path: str
    public_key: Bytes32
    recipient: Annotated[str, Note(pattern="^age1[0-9a-z]{58}$")]
    key_count: Count


@dataclass(frozen=True, slots=True)
class EncryptionKey(Event):
    """One for each key; `position` 0 is the newest; `in_roster` is null without `--roster`."""

    EVENT: ClassVar[str] = "guardian_keys.key"
    position: Count
    public_key: Bytes32
    recipient: Annotated[str, Note(pattern="^age1[0-9a-z]{58}$")]
    in_roster: bool | None
