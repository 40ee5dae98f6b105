"""Events of the Solver's command."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32, TokenAmount, UnixSeconds, Wei

from service_cli.chain.events import ApprovalRequired, UnsentCall  # noqa: F401  # the first is printed by the wallet outside
from service_cli.ui.event import Count, Event
from service_cli.ui.items import Field, Shown, Whole
from service_cli.ui.phrases import argument, at, counted, following, size, tokens, transaction
from service_cli.ui.text import ether

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen

_SIZE: Final = len("999.9 bytes")


@dataclass(frozen=True, slots=True)
class LeftOutPath(Event):
    """Not sealed, since `.bountyignore` names it. A path that ends with a
    slash is a directory with everything in it."""

    EVENT: ClassVar[str] = "submit.left_out"
    WHEN: ClassVar[str] = "once for each name that is left out"
    path: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield Whole(f"{'left out':>{_SIZE}}  {self.path}")


@dataclass(frozen=True, slots=True)
class SealableFile(Event):
    """Only with `--check`: a file that would be sealed."""

    EVENT: ClassVar[str] = "submit.file"
    WHEN: ClassVar[str] = "once for each file, with --check"
    path: str
    byte_length: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield Whole(f"{size(self.byte_length):>{_SIZE}}  {self.path}")  # nothing that is sealed is cut


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

    def text(self, screen: "Screen") -> Iterator[Shown]:
        count, length = self.file_count, self.byte_length
        left_out = f", {counted(without, 'name')} left out" if (without := self.left_out_count) else ""
        yield (
            f"{screen.good('Ready.')} {counted(count, 'file')} ({size(length)}) would be sealed for bounty "
            f"{self.bounty_id}{left_out}; nothing was sealed, signed or sent."
        )
        yield Field("Submit", f"before {at(self.submission_deadline, screen)}")
        yield Field("Sealed", f"until {at(self.reveal_at, screen)}; nobody can read it before")
        gas, cost = self.gas, self.gas_cost
        yield Field("Gas", f"at most {ether(cost)} ({gas:,} gas); the account holds {ether(self.balance)}")
        for warning in self.warnings:
            yield Field("Warning", screen.bad(warning))
        yield following(f"solver:submit {self.bounty_id} {argument(screen.about.path, 'DIRECTORY')}")


@dataclass(frozen=True, slots=True)
class UploadedCiphertext(Event):
    """The storage took the sealed bytes. Not printed where it holds them already."""

    EVENT: ClassVar[str] = "submit.ciphertext_uploaded"
    bounty_id: BountyId
    solver: Address
    byte_length: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"The sealed work is uploaded ({size(self.byte_length)}); nobody can read it yet."


@dataclass(frozen=True, slots=True)
class KeptSubmission(Event):
    """With `--without-api`: `directory` holds `envelope.json` and `ciphertext.age`, as `guardian:open --from` takes
    them."""

    EVENT: ClassVar[str] = "submit.sealed_kept"
    WHEN: ClassVar[str] = "with --without-api"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    directory: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"The sealed work is on this machine only, in {self.directory}; keep it until the bounty is final."
        yield Field(
            "Next", "before the deadline, run it again without --without-api, or pass that folder to a Guardian"
        )


@dataclass(frozen=True, slots=True)
class CheckedEnvelope(Event):
    """The API checked the envelope; its commitment and transaction equal those derived here. `byte_length` is the
    envelope's."""

    EVENT: ClassVar[str] = "submit.submission_prepared"
    mode: str
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    guardian_roster_hash: Bytes32
    byte_length: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield "The service has checked the sealed work, and names the same Submission as this client."
        yield Field("Submission", self.submission_commitment, whole=True)


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
    tx_hash: Bytes32
    block_number: BlockNumber
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    guardian_roster_hash: Bytes32

    def text(self, screen: "Screen") -> Iterator[Shown]:
        bounty_id, terms = self.bounty_id, screen.about.terms
        yield f"{screen.good('Done.')} Your Submission to bounty {bounty_id} is recorded on chain."
        if terms is not None:
            yield Field("Award", f"{tokens(terms.award, screen)}, if the Guardians choose it")
            yield Field("Sealed", f"until {at(terms.reveal_at, screen)}")
            yield Field("Replaceable", f"until {at(terms.submission_deadline, screen)}, by submitting again")
            yield Field("Judging", f"until {at(terms.judging_deadline, screen)}")
        yield Field("Submission", self.submission_commitment, whole=True)
        yield from transaction(self.tx_hash, screen)
        yield following(f"bounty:watch {bounty_id}")
