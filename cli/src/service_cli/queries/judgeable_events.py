"""Events of ``guardian:judgeable``, in a module of their own: it starts without the events of the other commands."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from bounty_protocol.domain.lifecycle.states import VerdictKind
from bounty_protocol.shapes import OMITTED
from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds

from service_cli.ui.event import Event


@dataclass(frozen=True, slots=True)
class JudgeableSubmission:
    """A Submission that can be judged, as the index has it."""

    solver_address: Address
    submission_commitment: Bytes32


REPLACED: Final = (
    "it is not the one that this machine recorded. If you did not replace it elsewhere, someone else has your "
    "account's key: record yours again with --replace before the deadline, tell the other Guardians, and ask the "
    "owner for a new roster"
)
"""For a Guardian whose Verdict was replaced (docs/guardian.md, "When a Guardian's key is stolen")."""


@dataclass(frozen=True, slots=True)
class IndexedVerdict:
    """The Guardian's last Verdict, as the index has it; without an award nobody is named."""

    kind: VerdictKind
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class JudgeableBounty(Event):
    """An open bounty past its reveal point, also past its judging deadline until somebody settles it. `unopened` are
    those of its Submissions that were not opened on this machine. `replaced` is there, and true, where this machine
    recorded a Verdict before `own_verdict`, which it did not record: the one who did has the Guardian's key."""

    EVENT: ClassVar[str] = "guardian_judgeable.bounty"
    bounty_id: BountyId
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    submissions: tuple[JudgeableSubmission, ...]
    unopened: tuple[Bytes32, ...]
    own_verdict: IndexedVerdict | None
    replaced: Annotated[bool | None, OMITTED] = None

    def says(self) -> str:
        return f"Careful: {REPLACED}" if self.replaced else "Bounty {bounty_id}: judge until {judging_deadline}."


@dataclass(frozen=True, slots=True)
class OwedDelivery(Event):
    """An awarded bounty whose winning key nobody has delivered yet."""

    EVENT: ClassVar[str] = "guardian_judgeable.delivery_owed"
    SAYS: ClassVar[str] = "Bounty {bounty_id} was awarded. Its Poster waits for the key of the winning work."
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
