"""Events of ``guardian:judgeable``, in a module of their own: it starts without the events of the other commands."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from bounty_protocol.domain.lifecycle import VerdictKind
from bounty_protocol.shapes import OMITTED
from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds

from service_cli.ui.event import Event
from service_cli.ui.items import Field, Shown
from service_cli.ui.phrases import at, following, short

if TYPE_CHECKING:
    from service_cli.ui.render.screen import Screen


@dataclass(frozen=True, slots=True)
class JudgeableSubmission:
    """A Submission that can be judged, as the index has it."""

    solver_address: Address
    submission_commitment: Bytes32


REPLACED: Final = (
    "it is not the one that this machine recorded. If you did not replace it elsewhere, somebody else has your "
    "account's key: record yours again with --replace before the deadline, tell the other Guardians, and have the "
    "roster changed"
)
"""For a Guardian whose Verdict was replaced (docs/judging.md, "When a Guardian's key is stolen")."""
REPLACED_BY_OTHERS: Final = (
    "a Guardian may change its mind, and a thief of its key can record a Verdict, too: ask that Guardian on another "
    "way than by its account"
)
"""For the Guardians of a roster of which one replaced its Verdict."""


@dataclass(frozen=True, slots=True)
class IndexedVerdict:
    """The Guardian's last Verdict, as the index has it; without an award nobody is named."""

    kind: VerdictKind
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32


@dataclass(frozen=True, slots=True)
class VerdictReplacement:
    """A Verdict in the place of an earlier one of the same Guardian, as the index has it."""

    guardian_address: Address
    kind: VerdictKind
    solver_address: Address | None
    replaced_kind: VerdictKind
    replaced_solver_address: Address | None
    tx_hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class JudgeableBounty(Event):
    """An open bounty past its reveal point, also past its judging deadline until somebody settles it. `unopened` are
    those of its Submissions that were not opened on this machine. `replaced` is there, and true, where this machine
    recorded a Verdict before `own_verdict`, which it did not record: the one who did has the Guardian's key.
    `replacements` are Verdicts of this roster's Guardians that were recorded in the place of earlier ones, the latest
    of each Guardian, the newest first; absent where there are none, or where the index does not list them."""

    EVENT: ClassVar[str] = "guardian_judgeable.bounty"
    bounty_id: BountyId
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    submissions: tuple[JudgeableSubmission, ...]
    unopened: tuple[Bytes32, ...]
    own_verdict: IndexedVerdict | None
    replaced: Annotated[bool | None, OMITTED] = None
    replacements: Annotated[tuple[VerdictReplacement, ...] | None, OMITTED] = None

    def text(self, screen: "Screen") -> Iterator[Shown]:
        bounty_id, deadline = self.bounty_id, self.judging_deadline
        if deadline <= screen.now:
            over = f"the time for Verdicts is over since {at(deadline, screen)}"
            yield f"Bounty {bounty_id}: {over}; anyone can settle it."
        else:
            yield f"Bounty {bounty_id}: judge until {at(deadline, screen)}."
        own = self.own_verdict
        yield Field("Your Verdict", "none yet" if own is None else shown_verdict(own.kind, own.solver_address))
        if self.replaced:
            yield Field("Careful", REPLACED)
        for each in self.replacements or ():
            yield Field("Replaced", f"{replacement(each)} {at(each.time, screen)}")
        if self.replacements:
            yield Field("Next", REPLACED_BY_OTHERS)
        yield Field("Submissions", f"{len(self.submissions)}, {len(set(self.unopened))} not opened on this machine")
        if self.unopened:
            yield following(f"guardian:open {bounty_id}")
        elif own is None and self.submissions and deadline > screen.now:
            yield from judging(bounty_id)


def judging(bounty_id: BountyId) -> Iterator[Shown]:
    """The two commands of which one comes next, once the work is read."""
    yield following(f"guardian:verdict {bounty_id} awarded --submission N")
    yield Field("Or", f"service-cli guardian:verdict {bounty_id} no_valid_submission", whole=True)


def replacement(found: VerdictReplacement) -> str:
    """Which Guardian's Verdict became what."""
    before = shown_verdict(found.replaced_kind, found.replaced_solver_address)
    return f"{short(found.guardian_address)}: {before}, then {shown_verdict(found.kind, found.solver_address)},"


def shown_verdict(kind: object, solver: Address | None) -> str:
    if kind != VerdictKind.AWARDED:
        return "no valid Submission"
    return "an award" if solver is None else f"an award to {short(solver)}"


@dataclass(frozen=True, slots=True)
class OwedDelivery(Event):
    """An awarded bounty whose winning key nobody has delivered yet."""

    EVENT: ClassVar[str] = "guardian_judgeable.delivery_owed"
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32

    def text(self, screen: "Screen") -> Iterator[Shown]:
        bounty_id = self.bounty_id
        yield f"Bounty {bounty_id} was awarded, and its Poster waits for the key of the winning work."
        yield following(f"guardian:deliver-key {bounty_id}")
