"""One bounty, as its page shows it."""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.bounty import TermDifference, term_differences
from bounty_protocol.domain.halts import BASE_FINALITY_SECONDS
from bounty_protocol.domain.hub_events import BountyTerms
from bounty_protocol.domain.lifecycle import BountyStatus, SettlementReason
from bounty_protocol.domain.record import VerificationRecord
from bounty_protocol.domain.roster import RosterMember
from bounty_protocol.types import ZERO_ADDRESS, Bytes32, RosterVersion, UnixSeconds
from bounty_protocol.wire.bounties import ActiveSubmission, BountyDetail
from bounty_protocol.wire.deployment import Deployment
from bounty_protocol.wire.reading import read
from bounty_protocol.wire.withheld import Withheld
from markupsafe import Markup

from service_web.api.rows import BountyActivity, LostRow, ReplacementRow, SubmissionRow, VerdictRow
from service_web.challenge import Challenge, Title
from service_web.dependencies import Dependencies
from service_web.texts import gettext, marked
from service_web.views.freshness import finality, finality_seconds
from service_web.views.money import Payment, PossibleEnding, endings, guardian_share, payments
from service_web.views.stage import Deadline, Stage, next_deadline, stage_of
from service_web.views.status import status_of
from service_web.written import Lacking, Written

SHOWN_SUBMISSIONS: Final = 100
REASONS: Final = {
    SettlementReason.JUDGED: marked("A quorum of the Guardians decided it."),
    SettlementReason.NO_SUBMISSIONS: marked("Nobody submitted anything before the deadline."),
    SettlementReason.GUARDIANS_SILENT: marked(
        "No Guardian recorded a Verdict in time. The Guardians are paid nothing."
    ),
    SettlementReason.QUORUM_NOT_REACHED: marked("Guardians recorded Verdicts, but no quorum agreed in time."),
}
RECORD_FAILURES: Final = {
    "not_finalized": marked("It follows once the block that decided the bounty is finalized."),
    "index_behind": marked("The index has not read far enough yet."),
    "derivation_failed": marked(
        "The service could not derive it. Derive it from the chain yourself with service-audit."
    ),
}


@dataclass(frozen=True, slots=True)
class Milestone:
    """One moment. ``at`` None: it has not come, or the index does not state when it did."""

    name: str
    at: UnixSeconds | None
    is_past: bool


@dataclass(frozen=True, slots=True)
class Judge:
    """A Guardian of the pinned roster, and what it recorded. ``reasons`` None: there is no Verdict,
    or ``withheld`` or ``lacking`` says why."""

    member: RosterMember
    verdict: VerdictRow | None
    reasons: Markup | None
    is_about_this: bool
    """Whether the written Verdict names this bounty, this Guardian and what the chain has."""
    replacements: tuple[ReplacementRow, ...] = ()
    """How it came to the present Verdict, the newest first."""
    withheld: Withheld | None = None
    """Why the reasons are not shown, where the operator withholds them."""
    lacking: Lacking | None = None
    """Why there are no reasons otherwise: only of some nobody can say that there are none."""


@dataclass(frozen=True, slots=True)
class ShownWork:
    """A Submission as it may be shown: who and when, never what."""

    submission: ActiveSubmission
    row: SubmissionRow | None
    is_winner: bool
    lost_since: UnixSeconds | None = None
    """Since when the service's storage has its sealed bytes no longer, as far as it knows."""


@dataclass(frozen=True, slots=True)
class BountyPage:
    """Everything on the page."""

    detail: BountyDetail
    deployment: Deployment
    title: Title
    challenge: Challenge | None
    differences: tuple[TermDifference, ...]
    stage: Stage
    deadline: Deadline | None
    milestones: tuple[Milestone, ...]
    now: UnixSeconds
    finality: str
    finality_seconds: int
    endings: tuple[PossibleEnding, ...]
    guardian_share: int
    payments: tuple[Payment, ...]
    judges: tuple[Judge, ...]
    works: tuple[ShownWork, ...]
    record: VerificationRecord | None
    created_tx: Bytes32


def bounty_page(deps: Dependencies, detail: BountyDetail) -> BountyPage:
    """The page of a bounty as it was answered."""
    now = deps.clock.now()
    deployment = deps.api.deployment().value
    history = deps.api.history(detail.bounty_id).value
    challenge = deps.challenges.of(detail)
    facts, roster = detail.facts, detail.guardian_roster
    record = record_of(detail)
    lost = deps.api.lost_of(detail.bounty_id)
    replaced = deps.api.replacements(frozenset({detail.bounty_id}))
    made = payments(record.amounts, history.claims) if record else ()
    stage = stage_of(facts, now, has_submissions=detail.active_submission_count > 0)
    position = status_of(deps, deployment).position
    finalized = now - BASE_FINALITY_SECONDS if position is None else position.finalized_block_time
    unfinal = finality_seconds(detail, history.settled_at or history.time, finalized)
    return BountyPage(
        detail=detail,
        deployment=deployment,
        title=challenge.title if challenge else Title(None, "", may_mislead=False, withheld=detail.withheld),
        challenge=challenge,
        differences=_differences(challenge, detail),
        stage=stage,
        deadline=next_deadline(facts, stage),
        milestones=milestones_of(detail, history, made, now),
        now=now,
        finality=finality(facts.status, unfinal),
        finality_seconds=unfinal,
        endings=_endings(detail),
        guardian_share=guardian_share(facts, len(roster.members)),
        payments=made,
        judges=tuple(_judge(deps, member, detail, history, replaced) for member in roster.members),
        works=_works(detail, history, lost),
        record=record,
        created_tx=history.tx_hash,
    )


def record_of(detail: BountyDetail) -> VerificationRecord | None:
    """The record, where there is one that fits the facts beside it."""
    if detail.verification_record is None:
        return None
    try:
        record = read(VerificationRecord, detail.verification_record)
    except ValueError:
        return None
    facts = detail.facts
    fits = (
        (record.bounty_id, record.outcome, record.winner, record.spec_commitment, record.guardian_roster_hash)
        == (detail.bounty_id, facts.outcome, facts.winner, facts.spec_commitment, facts.guardian_roster_hash)
    ) and sum(each.amount for each in record.amounts) == facts.escrow_amount
    return record if fits else None


def milestones_of(
    detail: BountyDetail, history: BountyActivity, made: tuple[Payment, ...], now: int
) -> tuple[Milestone, ...]:
    """The moments of a bounty in order; those that a decision made meaningless are left out."""
    facts = detail.facts
    planned = [
        Milestone(gettext("Created"), history.time, is_past=True),
        Milestone(gettext("Submissions close"), facts.submission_deadline, facts.submission_deadline <= now),
        Milestone(gettext("Work can be opened"), facts.reveal_at, facts.reveal_at <= now),
        Milestone(gettext("Judging ends"), facts.judging_deadline, facts.judging_deadline <= now),
    ]
    if facts.status is BountyStatus.OPEN:
        return tuple(planned)
    decided = decided_at(detail, history)
    if facts.settlement_reason is SettlementReason.NO_SUBMISSIONS:
        planned = planned[:2]
    elif decided is not None:
        planned = [each for each in planned if each.at is not None and each.at <= decided]
    claims = [payment.claim.time for payment in made if payment.claim is not None]
    is_paid = bool(made) and len(claims) == len(made)
    paid = Milestone(gettext("All paid out"), max(claims) if is_paid else None, is_past=is_paid)
    return (*planned, Milestone(gettext("Decided"), decided, is_past=True), paid)


def decided_at(detail: BountyDetail, history: BountyActivity) -> UnixSeconds | None:
    """When Guardians decided: with the last Verdict. When somebody settled, the API does not state."""
    if detail.facts.settlement_reason is not SettlementReason.JUDGED or not history.verdicts:
        return None
    return max(verdict.time for verdict in history.verdicts)


def _differences(challenge: Challenge | None, detail: BountyDetail) -> tuple[TermDifference, ...]:
    """Where the page states other terms than the chain: anyone can fund a bounty with any page."""
    if detail.withheld is not None and detail.challenge_terms is not None:
        return detail.challenge_terms.differences  # as the API states them: there is nothing to check them with
    if challenge is None or challenge.page is None:
        return ()
    facts = detail.facts
    terms = BountyTerms(
        poster=facts.poster_address,
        spec_commitment=facts.spec_commitment,
        guardian_roster_hash=facts.guardian_roster_hash,
        roster_version=RosterVersion(detail.guardian_roster.version),
        escrow_amount=facts.escrow_amount,
        submission_deadline=facts.submission_deadline,
        reveal_at=facts.reveal_at,
        judging_deadline=facts.judging_deadline,
        protocol_fee=facts.protocol_fee,
        guardian_fee=facts.guardian_fee,
        protocol_fee_recipient=ZERO_ADDRESS,  # no term of a page
    )
    return term_differences(challenge.page, terms)


def _endings(detail: BountyDetail) -> tuple[PossibleEnding, ...]:
    if detail.facts.status is BountyStatus.FINAL:
        return ()
    try:
        return endings(detail.facts, len(detail.guardian_roster.members))
    except ValueError:
        return ()


def _judge(
    deps: Dependencies,
    member: RosterMember,
    detail: BountyDetail,
    history: BountyActivity,
    replaced: tuple[ReplacementRow, ...],
) -> Judge:
    verdict = next((each for each in history.verdicts if each.guardian_address == member.guardian_address), None)
    if verdict is None:
        return Judge(member, None, None, is_about_this=False)
    own = tuple(each for each in replaced if each.guardian_address == member.guardian_address)
    written = deps.written.of(verdict.report_commitment, member.guardian_address)
    if isinstance(written, Withheld):
        return Judge(member, verdict, None, is_about_this=False, replacements=own, withheld=written)
    if isinstance(written, Lacking):
        return Judge(member, verdict, None, is_about_this=False, replacements=own, lacking=written)
    return Judge(member, verdict, written.reasons, _is_about(written, member, verdict, detail), own)


def _is_about(written: Written, member: RosterMember, verdict: VerdictRow, detail: BountyDetail) -> bool:
    found = written.parsed
    if found is None:
        return False
    named = (found.chain_id, found.hub_address, found.bounty_id, found.guardian_address)
    judged = (found.kind, found.solver_address, found.submission_commitment)
    return named == (detail.chain_id, detail.hub_address, detail.bounty_id, member.guardian_address) and judged == (
        verdict.kind, verdict.solver_address, verdict.submission_commitment
    )  # fmt: skip


def _works(detail: BountyDetail, history: BountyActivity, lost: tuple[LostRow, ...]) -> tuple[ShownWork, ...]:
    since = {(row.solver_address, row.submission_commitment): row.lost_since for row in lost}
    rows = {row.solver_address: row for row in history.submissions}
    winner = detail.facts.winner
    named = None if winner is None else (winner.solver_address, winner.submission_commitment)
    return tuple(
        ShownWork(
            each,
            rows.get(each.solver_address),
            (each.solver_address, each.submission_commitment) == named,
            since.get((each.solver_address, each.submission_commitment)),
        )
        for each in sorted(detail.active_submissions, key=lambda each: each.submitted_at)[:SHOWN_SUBMISSIONS]
    )
