"""Events of the Guardian's commands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.shapes import Note
from bounty_protocol.types import Address, BlockNumber, BountyId, Bytes32

from service_cli.chain.events import OpenedFiles
from service_cli.guardian.fee_events import AwaitedFee, ClaimedFee, SignOfLife  # noqa: F401  # for the help
from service_cli.guardian.judgeable_events import (
    JudgeableBounty,  # noqa: F401  # for the help
    OwedDelivery,  # noqa: F401  # for the help
    judging,
    shown_verdict,
)
from service_cli.ui.event import Code, Count, Event, Position
from service_cli.ui.items import Column, Field, Row, Shown
from service_cli.ui.phrases import at, counted, following, transaction
from service_cli.ui.text import BountyEnd

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


@dataclass(frozen=True, slots=True)
class ListedSubmission(Event):
    """Where no Submission was named by Solver and commitment: one of the bounty, by the Hub's log, oldest first.
    `number` is what `--submission` takes, `of` how many there are."""

    EVENT: ClassVar[str] = "guardian_open.submission_listed"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    number: Position
    of: Count
    block_number: BlockNumber

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"Submission {self.number} by {self.solver}:"
        yield Field("", self.submission_commitment, whole=True)


@dataclass(frozen=True, slots=True)
class VerifiedSubmission(Event):
    """Envelope, commitment and contract agree, and the key fits."""

    EVENT: ClassVar[str] = "guardian_open.submission_verified"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"The Submission of {self.solver} is the one on chain, and your key opens it."


@dataclass(frozen=True, slots=True)
class OpenedSubmission(OpenedFiles):
    __doc__ = OpenedFiles.__doc__
    EVENT: ClassVar[str] = "guardian_open.artifact_opened"

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield from self.opened(screen)
        yield Field("Next", "read it, then record what you found: service-cli help guardian:verdict")


@dataclass(frozen=True, slots=True)
class UnopenedSubmission(Event):
    """Of a whole bounty: this Submission could not be opened, and why, with the fields of a refusal; the others are
    opened."""

    EVENT: ClassVar[str] = "guardian_open.submission_not_opened"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    number: Position
    code: Code
    message: str
    next_action: str

    def text(self, screen: "Screen") -> Iterator[Shown]:
        number = self.number
        yield f"{screen.bad('Not opened:')} Submission {number}, of {self.solver}. {self.message}"
        yield Field("Fix", self.next_action)


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

    def text(self, screen: "Screen") -> Iterator[Shown]:
        bounty_id, before, problems = self.bounty_id, self.opened_before, self.not_opened
        if not (self.opened or before or problems or self.left_out):
            yield f"Bounty {bounty_id} has no Submission: there is nothing to open or to judge."
            yield following("guardian:judgeable")
            return
        opened = counted(self.opened, "Submission")
        if before and not self.opened and not problems:
            yield f"{screen.good('Done.')} Nothing of bounty {bounty_id} is left to open; it is in {self.output_dir}."
        else:
            yield f"{screen.good('Done.')} {opened} of bounty {bounty_id} opened below {self.output_dir}."
        if before:
            yield Field("Before", f"{counted(before, 'Submission')} had been opened by an earlier run")
        if problems:
            yield Field("Not opened", screen.bad(counted(problems, "Submission")))
        if self.left_out:
            yield Field("Left out", ", ".join(map(str, self.left_out)))
        if self.opened or before:
            yield from judging(bounty_id)


@dataclass(frozen=True, slots=True)
class PublishedVerdict(Event):
    """The written Verdict is stored."""

    EVENT: ClassVar[str] = "guardian_verdict.published"
    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield f"Your written Verdict on bounty {self.bounty_id} is published; anyone can read it."
        yield Field("Report", self.report_commitment, whole=True)


@dataclass(frozen=True, slots=True)
class ReadBackVerdict(Event):
    """It reads back byte for byte."""

    EVENT: ClassVar[str] = "guardian_verdict.read_back"
    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32

    def text(self, screen: "Screen") -> Iterator[Shown]:
        yield "It reads back byte for byte."


@dataclass(frozen=True, slots=True)
class VerdictCount(Event):
    """Printed before `recorded`, once the Verdict is on chain, where the endpoint answers: how many Guardians of the
    pinned roster recorded the same, how many recorded any Verdict, how many have to agree, and whether the bounty is
    final. It decides nothing."""

    EVENT: ClassVar[str] = "guardian_verdict.standing"
    bounty_id: BountyId
    agreeing: Count
    recorded: Count
    quorum: Count
    final: bool

    def text(self, screen: "Screen") -> Iterator[Shown]:
        agreeing, quorum = self.agreeing, self.quorum
        recorded = counted(self.recorded, "Guardian")
        ending = "the bounty is final" if self.final else "the bounty stays open until then, or its time is up"
        yield f"{recorded} recorded a Verdict, {agreeing} the same as you; {quorum} have to agree: {ending}."


def after_verdict(bounty_id: BountyId, ended: BountyEnd | None) -> Iterator[Shown]:
    """The next step after a Guardian's Verdict: for this Guardian, and where the bounty has ended for who is owed."""
    if ended is None:
        yield following(f"bounty:watch {bounty_id}")
        return
    if ended.is_awarded:
        yield following(f"guardian:deliver-key {bounty_id}")
    yield Field("Your share", f"service-cli guardian:claim-fee {bounty_id}", whole=True)
    yield Field("The winner" if ended.is_awarded else "The Poster", f"runs service-cli claim {bounty_id}", whole=True)


@dataclass(frozen=True, slots=True)
class AnchoredVerdict(Event):
    """The same Verdict is on chain."""

    EVENT: ClassVar[str] = "guardian_verdict.recorded"
    bounty_id: BountyId
    guardian: Address
    kind: VerdictKind
    solver: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32
    tx_hash: Bytes32
    block_number: BlockNumber

    def text(self, screen: "Screen") -> Iterator[Shown]:
        bounty_id, verdict = self.bounty_id, shown_verdict(self.kind, self.solver)
        yield f"{screen.good('Done.')} Your Verdict on bounty {bounty_id} is recorded on chain: {verdict}."
        if screen.about.terms is not None:
            yield Field("Judging", f"until {at(screen.about.terms.judging_deadline, screen)}, or until a quorum agrees")
        yield from transaction(self.tx_hash, screen)
        yield from after_verdict(bounty_id, screen.about.ended)


@dataclass(frozen=True, slots=True)
class DeliveredKey(Event):
    """The winning key is with the delivery service; `created` is false when it was there before."""

    EVENT: ClassVar[str] = "guardian_deliver_key.stored"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    created: bool

    def text(self, screen: "Screen") -> Iterator[Shown]:
        bounty_id = self.bounty_id
        before = "" if self.created else " It was there before."
        yield f"{screen.good('Done.')} The Poster of bounty {bounty_id} can open the winning work.{before}"
        yield Field("Next", f"the Poster runs service-cli poster:open-winning-submission {bounty_id}")


@dataclass(frozen=True, slots=True)
class NewEncryptionKey(Event):
    """`recipient` is the public key as age writes it; `key_count` counts the keys of the file, the new one
    included."""

    EVENT: ClassVar[str] = "guardian_new_key.written"
    path: str
    public_key: Bytes32
    recipient: Annotated[str, Note(pattern="^age1[0-9a-z]{58}$")]
    key_count: Count

    def text(self, screen: "Screen") -> Iterator[Shown]:
        count = self.key_count
        yield f"{screen.good('Done.')} A new encryption key is in {self.path}, which now has {count}; back it up."
        yield Field("Public key", self.public_key, whole=True)
        yield Field("As age has it", self.recipient, whole=True)
        yield Field("Next", "give the public key to the Hub's owner, who publishes a roster with it; keep older keys")


_KEYS: Final = (Column("KEY"), Column("IN THE ROSTER"))


@dataclass(frozen=True, slots=True)
class EncryptionKey(Event):
    """One for each key; `position` 0 is the newest; `in_roster` is null without `--roster`."""

    EVENT: ClassVar[str] = "guardian_keys.key"
    position: Count
    public_key: Bytes32
    recipient: Annotated[str, Note(pattern="^age1[0-9a-z]{58}$")]
    in_roster: bool | None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        held = self.in_roster
        shown = "" if held is None else screen.good("yes") if held else screen.bad("no")
        number = self.position
        yield Row(_KEYS, ("newest" if number == 0 else f"older, {number}", shown), note=self.public_key)
