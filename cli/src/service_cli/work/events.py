"""Events of what is done with files of this machine: keys, what is selected, sealed and opened."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.chain.events import OpenedFiles
from service_cli.ui.event import Code, Count, Event
from service_cli.ui.text import counted


@dataclass(frozen=True, slots=True)
class ListedSubmission(Event):
    """Where no Submission was named by Solver and commitment: one of the bounty, by the Hub's log, oldest first;
    `of` is how many there are."""

    EVENT: ClassVar[str] = "guardian_open.submission_listed"
    SAYS: ClassVar[str] = "Submission {submission_commitment} by {solver}"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    of: Count
    block_number: BlockNumber


@dataclass(frozen=True, slots=True)
class OpenedSubmission(OpenedFiles):
    __doc__ = OpenedFiles.__doc__
    EVENT: ClassVar[str] = "guardian_open.artifact_opened"


@dataclass(frozen=True, slots=True)
class UnopenedSubmission(Event):
    """Of a whole bounty: this Submission could not be opened, and why, with the fields of a refusal; the others are
    opened."""

    EVENT: ClassVar[str] = "guardian_open.submission_not_opened"
    SAYS: ClassVar[str] = "Not opened: Submission {submission_commitment}. {message}"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    code: Code
    message: str
    next_action: str


@dataclass(frozen=True, slots=True)
class OpenedBounty(Event):
    """Of a whole bounty: how many Submissions this run opened, an earlier one had opened, and could not be opened.
    Where that is any, `guardian_open.refused` follows. `left_out` are those that `--limit` left out:
    the next run opens them."""

    EVENT: ClassVar[str] = "guardian_open.finished"
    WHEN: ClassVar[str] = "for a whole bounty"
    bounty_id: BountyId
    output_dir: str
    opened: Count
    opened_before: Count
    not_opened: Count
    left_out: tuple[Bytes32, ...]

    def says(self) -> str:
        if not (self.opened or self.opened_before or self.not_opened or self.left_out):
            return "Bounty {bounty_id} has no Submission: there is nothing to open or to judge."
        done = f"Done. {counted(self.opened, 'Submission')} of bounty {{bounty_id}} opened below {{output_dir}}."
        return f"{done} Run the command again for the rest." if self.left_out else done


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


@dataclass(frozen=True, slots=True)
class OpenedWinningWork(OpenedFiles):
    __doc__ = OpenedFiles.__doc__
    EVENT: ClassVar[str] = "open_winning_submission.artifact_opened"


@dataclass(frozen=True, slots=True)
class LeftOutPath(Event):
    """Not sealed, since `.bountyignore` names it. A path that ends with a
    slash is a directory with everything in it."""

    EVENT: ClassVar[str] = "submit.left_out"
    WHEN: ClassVar[str] = "once for each name that is left out"
    TABLE: ClassVar[bool] = True
    path: str


@dataclass(frozen=True, slots=True)
class SealableFile(Event):
    """Only with `--check`: a file that would be sealed."""

    EVENT: ClassVar[str] = "submit.file"
    WHEN: ClassVar[str] = "once for each file, with --check"
    TABLE: ClassVar[bool] = True
    path: str
    byte_length: Count
