"""Events of the Solver's command."""

from dataclasses import dataclass
from typing import ClassVar

from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount, UnixSeconds, Wei

from service_cli.chain.events import ApprovalRequired, UnsentCall  # noqa: F401  # the first is printed by the wallet outside
from service_cli.ui.event import Count, Event
from service_cli.ui.text import counted


@dataclass(frozen=True, slots=True)
class SubmissionPreview(Event):
    """Only with `--check`; nothing is sealed, signed or sent. `byte_length` is that of all files, `gas_cost` and
    `balance` are in wei, `gas_cost` the most that recording may cost now. `secret_files` look like secrets:
    `solver:submit` asks about them on a terminal and refuses them elsewhere, unless `--include-suspicious` is given.
    `replaces` is the Submission that would be replaced, `award` what a winner gets, by every RPC endpoint."""

    EVENT: ClassVar[str] = "submit.checked"
    WHEN: ClassVar[str] = "with --check"
    bounty_id: BountyId
    solver: Address
    file_count: Count
    byte_length: Count
    left_out_count: Count
    secret_files: tuple[str, ...]
    gas: Count
    gas_cost: Wei
    balance: Wei
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    award: TokenAmount
    replaces: Bytes32 | None
    warnings: tuple[str, ...]

    def says(self) -> str:
        files = counted(self.file_count, "file")
        return f"Ready. {files} ({{byte_length}}) would be sealed for bounty {{bounty_id}}. Nothing was signed or sent."


@dataclass(frozen=True, slots=True)
class UploadedCiphertext(Event):
    """The storage took the sealed bytes. Not printed where it holds them already."""

    EVENT: ClassVar[str] = "submit.ciphertext_uploaded"
    HIDES: ClassVar[tuple[str, ...]] = ("bounty_id", "solver")
    SAYS: ClassVar[str] = "The sealed work is uploaded ({byte_length}). Nobody can read it yet."
    bounty_id: BountyId
    solver: Address
    byte_length: Count


@dataclass(frozen=True, slots=True)
class KeptSubmission(Event):
    """With `--without-api`: `directory` holds `envelope.json` and `ciphertext.age`, as `guardian:open --from` takes
    them."""

    EVENT: ClassVar[str] = "submit.sealed_kept"
    HIDES: ClassVar[tuple[str, ...]] = ("bounty_id", "solver")
    WHEN: ClassVar[str] = "with --without-api"
    SAYS: ClassVar[str] = "The sealed work is on this machine only, in {directory}. Keep it until the bounty is final."
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    directory: str


@dataclass(frozen=True, slots=True)
class CheckedEnvelope(Event):
    """The API checked the envelope; its commitment and transaction equal those derived here. `byte_length` is the
    envelope's."""

    EVENT: ClassVar[str] = "submit.submission_prepared"
    HIDES: ClassVar[tuple[str, ...]] = ("mode", "bounty_id", "solver", "guardian_roster_hash", "byte_length")
    SAYS: ClassVar[str] = "The service checked the sealed work and derived the same Submission as this client."
    mode: str
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    guardian_roster_hash: Bytes32
    byte_length: Count


@dataclass(frozen=True, slots=True)
class UnsentSubmission(UnsentCall):
    """Only with `--solver-address`: the call for the wallet to send, once. Printed again
    until it is mined."""

    EVENT: ClassVar[str] = "submit.transaction_prepared"
    WHEN: ClassVar[str] = "with --solver-address"
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubmittedWork(Event):
    """The Submission is on chain. Printed again by every later run over the same files, whichever wallet recorded
    it."""

    EVENT: ClassVar[str] = "submit.submission_recorded"
    HIDES: ClassVar[tuple[str, ...]] = ("solver", "guardian_roster_hash")
    SAYS: ClassVar[str] = "Done. Your Submission to bounty {bounty_id} is recorded on chain."
    tx_hash: Bytes32
    block_number: BlockNumber
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    guardian_roster_hash: Bytes32
