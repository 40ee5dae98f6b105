"""The VerificationRecord: a summary of a final bounty's chain state, derived the same way by everyone.

A pure function of typed final state; its canonical JSON is byte-stable, so two derivations can be compared as bytes. It
is evidence only and grants nothing. State that contradicts itself raises ``derivation_failed``: a roster that is not
the pinned one, a Verdict from outside it or two from one Guardian, an award without a winner, an outcome that no quorum
recorded, figures that are not the Hub's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Annotated, Final, Literal

from bounty_protocol.domain.envelope.canonical_json import canonical_bytes
from bounty_protocol.domain.lifecycle.bounty import Bounty, Winner
from bounty_protocol.domain.lifecycle.roster import Roster
from bounty_protocol.domain.lifecycle.states import Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money.amounts import AmountDue, Settlement, amounts_due, settlement
from bounty_protocol.errors import ServiceError
from bounty_protocol.shapes import Note, to_json
from bounty_protocol.types import ZERO_ADDRESS, Address, BlockNumber, BountyId, Bytes32, ChainId

if TYPE_CHECKING:
    from bounty_protocol.domain.lifecycle.hub_events import BountyFinalized, VerdictRecorded

VERSION: Final = 1


class Support(Enum):
    """Whether a Verdict names the outcome."""

    YES = auto()
    NO = auto()
    WHERE_IT_NAMES_THE_WINNER = auto()


_JUDGED, _NO_QUORUM = SettlementReason.JUDGED, SettlementReason.QUORUM_NOT_REACHED
SUPPORT: Final[Mapping[tuple[VerdictKind, Outcome, SettlementReason], Support]] = {
    (VerdictKind.AWARDED, Outcome.AWARDED, _JUDGED): Support.WHERE_IT_NAMES_THE_WINNER,
    (VerdictKind.NO_VALID_SUBMISSION, Outcome.AWARDED, _JUDGED): Support.NO,
    (VerdictKind.AWARDED, Outcome.NO_VALID_SUBMISSION, _JUDGED): Support.NO,
    (VerdictKind.NO_VALID_SUBMISSION, Outcome.NO_VALID_SUBMISSION, _JUDGED): Support.YES,
    (VerdictKind.AWARDED, Outcome.NO_VALID_SUBMISSION, _NO_QUORUM): Support.NO,
    (VerdictKind.NO_VALID_SUBMISSION, Outcome.NO_VALID_SUBMISSION, _NO_QUORUM): Support.YES,
}
"""Every way in which a Verdict and the end of its bounty can meet. Without a quorum nobody is paid for work, as if
there had been no valid Submission: whoever recorded that named the outcome, though no quorum decided it."""


@dataclass(frozen=True, slots=True)
class SettlementTransaction:
    """The transaction that made the bounty final."""

    tx_hash: Bytes32
    block_number: BlockNumber
    block_hash: Bytes32


@dataclass(frozen=True, slots=True)
class RosterVerdict:
    """The last Verdict of one Guardian of the roster; null if there is none."""

    guardian_address: Address
    kind: VerdictKind | None
    solver_address: Address | None
    submission_commitment: Bytes32 | None
    report_commitment: Bytes32 | None
    supported_result: Annotated[
        bool,
        Note(
            "Whether the Verdict matches the outcome. An `awarded` Verdict matches if this Submission of this Solver "
            "was awarded. A `no_valid_submission` Verdict matches if that is the outcome: by a quorum (`judged`), "
            "and also if no quorum was reached (`quorum_not_reached`), although it then decided nothing. False "
            "without a Verdict."
        ),
    ]


@dataclass(frozen=True, slots=True)
class VerificationRecord:
    """The record, in its public shape; verdicts in roster order."""

    version: int
    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    status: Annotated[
        Literal["final"],
        Note("Every settled bounty is `final`, whatever the reason, even if no quorum was reached."),
    ]
    outcome: Outcome
    settlement_reason: SettlementReason
    winner: Winner | None
    spec_commitment: Bytes32
    guardian_roster_hash: Bytes32
    verdicts: tuple[RosterVerdict, ...]
    amounts: tuple[AmountDue, ...]
    settlement: SettlementTransaction
    log_digest: Bytes32

    def to_json(self) -> dict[str, object]:
        """Return the JSON object."""
        return to_json(self)

    def canonical_bytes(self) -> bytes:
        """Return the bytes by which two derivations are compared."""
        return canonical_bytes(self.to_json())


def derive_record(
    chain_id: ChainId,
    hub: Address,
    bounty: Bounty,
    roster: Roster,
    latest_verdicts: "Sequence[VerdictRecorded]",
    log_digest: Bytes32,
) -> VerificationRecord:
    """Derive the record, or raise ``derivation_failed`` if the state contradicts itself.

    ``roster`` is the pinned one, ``latest_verdicts`` are each Guardian's last ones; ``log_digest`` covers the logs up
    to the end.
    """
    if bounty.finalized is None:
        raise _contradiction("an open bounty has no record")
    roster.verify(chain_id, hub, bounty.terms.guardian_roster_hash)
    by_guardian = {verdict.guardian: verdict for verdict in latest_verdicts}
    if len(by_guardian) != len(latest_verdicts):
        raise _contradiction("two latest Verdicts of one Guardian")
    if not set(by_guardian) <= set(roster.accounts):
        raise _contradiction("a Verdict from an account that is not on the pinned roster")
    ending, origin = bounty.finalized.event, bounty.finalized.origin
    if (ending.winner != ZERO_ADDRESS) != (ending.outcome is Outcome.AWARDED):
        raise _contradiction("an award must name a winner, and no other outcome may")
    if ending.outcome is Outcome.AWARDED and ending.reason is not SettlementReason.JUDGED:
        raise _contradiction("only the Guardians' judgement awards a bounty")
    if not _is_decided(ending, latest_verdicts, roster.quorum):
        raise _contradiction(f"the Verdicts do not lead to {ending.reason.value}")
    verdicts = tuple(by_guardian.get(account) for account in roster.accounts)
    return VerificationRecord(
        version=VERSION,
        chain_id=chain_id,
        hub_address=hub,
        bounty_id=bounty.bounty_id,
        status="final",
        outcome=ending.outcome,
        settlement_reason=ending.reason,
        winner=bounty.winner,
        spec_commitment=bounty.terms.spec_commitment,
        guardian_roster_hash=roster.guardian_roster_hash,
        verdicts=tuple(
            _of_member(account, verdict, ending) for account, verdict in zip(roster.accounts, verdicts, strict=True)
        ),
        amounts=_amounts(bounty, ending, roster, verdicts),
        settlement=SettlementTransaction(origin.tx_hash, origin.block_number, origin.block_hash),
        log_digest=log_digest,
    )


def supports(verdict: "VerdictRecorded", ending: "BountyFinalized") -> bool:
    """Return whether the Verdict matches the final outcome: kind, Solver and Submission."""
    support = SUPPORT.get((verdict.kind, ending.outcome, ending.reason), Support.NO)
    if support is Support.WHERE_IT_NAMES_THE_WINNER:
        return (verdict.solver, verdict.submission_commitment) == (ending.winner, ending.submission_commitment)
    return support is Support.YES


def _is_decided(ending: "BountyFinalized", verdicts: "Sequence[VerdictRecorded]", quorum: int) -> bool:
    """Return whether these Verdicts lead to the recorded outcome."""
    awards = Counter((each.solver, each.submission_commitment) for each in verdicts if each.kind is VerdictKind.AWARDED)
    for_nobody = sum(each.kind is VerdictKind.NO_VALID_SUBMISSION for each in verdicts)
    match ending.reason:
        case SettlementReason.JUDGED:
            return sum(supports(each, ending) for each in verdicts) >= quorum
        case SettlementReason.QUORUM_NOT_REACHED:
            return bool(verdicts) and max(for_nobody, *awards.values(), 0) < quorum
        case _:
            return not verdicts


def _amounts(
    bounty: Bounty, ending: "BountyFinalized", roster: Roster, verdicts: "tuple[VerdictRecorded | None, ...]"
) -> tuple[AmountDue, ...]:
    terms, guardians = bounty.terms, [verdict.guardian for verdict in verdicts if verdict is not None]
    try:
        figures = settlement(
            ending.outcome,
            escrow_amount=terms.escrow_amount,
            protocol_fee=terms.protocol_fee,
            guardian_fee=terms.guardian_fee,
            roster_size=len(roster.members),
            verdict_count=len(guardians),
        )
        if figures != Settlement(
            ending.award, ending.refund, ending.protocol_fee, ending.guardian_fee_each, ending.guardian_fee_count
        ):
            raise _contradiction("its amounts do not follow from its terms and Verdicts")
        return amounts_due(
            figures,
            winner=bounty.winner.solver_address if bounty.winner else None,
            poster=terms.poster,
            guardians_with_verdict=guardians,
            protocol_fee_recipient=terms.protocol_fee_recipient,
        )
    except ValueError as error:
        raise _contradiction(str(error)) from None


def _of_member(account: Address, verdict: "VerdictRecorded | None", ending: "BountyFinalized") -> RosterVerdict:
    if verdict is None:
        return RosterVerdict(account, None, None, None, None, supported_result=False)
    awarded = verdict.kind is VerdictKind.AWARDED
    return RosterVerdict(
        guardian_address=account,
        kind=verdict.kind,
        solver_address=verdict.solver if awarded else None,
        submission_commitment=verdict.submission_commitment if awarded else None,
        report_commitment=verdict.report_commitment,
        supported_result=supports(verdict, ending),
    )


def _contradiction(what: str) -> ServiceError:
    message = f"the final state contradicts itself: {what}"
    return ServiceError("derivation_failed", message, next_action="Read the bounty from the chain again.")
