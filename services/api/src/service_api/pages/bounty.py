"""One bounty, as its page shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.challenge.commitments import report_commitment
from bounty_protocol.domain.lifecycle.bounty import Bounty, TermDifference
from bounty_protocol.domain.lifecycle.hub_events import Logged, SubmissionRecorded
from bounty_protocol.domain.lifecycle.record import VerificationRecord
from bounty_protocol.domain.lifecycle.roster import RosterMember
from bounty_protocol.domain.lifecycle.states import BountyStatus, SettlementReason
from bounty_protocol.domain.verdict import parse_verdict
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds
from bounty_protocol.wire.bounties import BountyDetail
from bounty_protocol.wire.deployment import TokenDescription
from bounty_protocol.wire.reading import read
from bounty_protocol.wire.withheld import Withheld
from markupsafe import Markup
from service_common.db.engine import reading
from service_common.db.hub_reads import Head

from service_api.bounties.bounty_pages import IndexedBounty, read_bounty_page
from service_api.bounties.show_bounty import detail_of
from service_api.pages.freshness import finality, finality_seconds
from service_api.pages.headline import Headline, headline_of
from service_api.pages.markdown import as_text, render
from service_api.pages.money import Payment, PossibleEnding, endings, guardian_share, payments
from service_api.pages.rows import (
    CLAIM,
    MOST_ROWS,
    SUBMISSION,
    ClaimRow,
    RecordedVerdict,
    ReplacementRow,
    VerdictRow,
    read_lost,
    read_replacements,
    read_rows,
    read_written_verdicts,
)
from service_api.pages.sources import PageSources
from service_api.pages.stage import Deadline, Stage, next_deadline, stage_of
from service_api.pages.titles import Challenge, Title, read_challenge

SHOWN_SUBMISSIONS: Final = 100
REASONS: Final = {
    SettlementReason.JUDGED: "A quorum of the Guardians decided it.",
    SettlementReason.NO_SUBMISSIONS: "Nobody submitted anything before the deadline.",
    SettlementReason.GUARDIANS_SILENT: "No Guardian recorded a Verdict in time. The Guardians are paid nothing.",
    SettlementReason.QUORUM_NOT_REACHED: "Guardians recorded Verdicts, but no quorum agreed in time.",
}
RECORD_FAILURES: Final = {
    "not_finalized": "It is available once the block that decided the bounty is finalized.",
    "index_behind": "The index has not read far enough yet.",
    "derivation_failed": "The service could not derive it. Derive it from the chain yourself with service-audit.",
}


@dataclass(frozen=True, slots=True)
class Milestone:
    """One moment. ``at`` None: it has not come."""

    name: str
    at: UnixSeconds | None
    is_past: bool


@dataclass(frozen=True, slots=True)
class Judge:
    """A Guardian of the pinned roster, and what it recorded. ``reasons`` None: there is no Verdict, nobody published
    them, or ``withheld`` says why."""

    member: RosterMember
    verdict: VerdictRow | None = None
    reasons: Markup | None = None
    is_about_this: bool = False
    """Whether the written Verdict names this bounty, this Guardian and what the chain has."""
    replacements: tuple[ReplacementRow, ...] = ()
    """How it came to the present Verdict, the newest first."""
    withheld: Withheld | None = None
    """Why the reasons are not shown, where the operator withholds them."""


@dataclass(frozen=True, slots=True)
class ShownWork:
    """A Submission as it may be shown: who and when, never what."""

    submission: Logged[SubmissionRecorded]
    is_winner: bool
    lost_since: UnixSeconds | None
    """Since when the service's storage has its sealed bytes no longer, as far as it knows."""


@dataclass(frozen=True, slots=True)
class BountyPage:
    """Everything on the page."""

    head: Head
    detail: BountyDetail
    token: TokenDescription
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
    headline: Headline
    judges: tuple[Judge, ...]
    works: tuple[ShownWork, ...]
    record: VerificationRecord | None
    created_tx: Bytes32


def bounty_page(deps: PageSources, bounty_id: BountyId) -> BountyPage:
    """Return the page of a bounty, from one snapshot of the index."""
    with reading(deps.facts.engine) as connection:
        head, found = read_bounty_page(connection, deps.facts, bounty_id)
        verdicts = read_written_verdicts(connection, bounty_id)
        replacements = read_replacements(connection, {bounty_id})
        claims = read_rows(connection, ClaimRow, CLAIM.bounty_id == bounty_id, most=MOST_ROWS)
        lost = {
            each.solver_address: each.lost_since for each in read_lost(connection, SUBMISSION.bounty_id == bounty_id)
        }
    detail, now = detail_of(deps.records, head, found), deps.clock.now()
    facts, roster = detail.facts, detail.guardian_roster
    challenge = None if detail.withheld is not None else read_challenge(detail.challenge, facts.spec_commitment)
    kept = detail.verification_record
    record = None if kept is None else read(VerificationRecord, kept)
    made = payments(record.amounts, claims) if record else ()
    stage = stage_of(facts, now, has_submissions=detail.active_submission_count > 0)
    unfinal = finality_seconds(detail, found.bounty.changed_at.time, head.finalized_time)
    return BountyPage(
        head=head,
        detail=detail,
        token=deps.constants.token(),
        title=challenge.title if challenge else Title(None, withheld=detail.withheld),
        challenge=challenge,
        differences=_differences(challenge, detail),
        stage=stage,
        deadline=next_deadline(facts, stage),
        milestones=_milestones(detail, found.bounty, made, now),
        now=now,
        finality=finality(facts.status, unfinal),
        finality_seconds=unfinal,
        endings=() if facts.status is BountyStatus.FINAL else endings(facts, len(roster.members)),
        guardian_share=guardian_share(facts, len(roster.members)),
        payments=made,
        headline=headline_of(facts, stage, made),
        judges=tuple(_judge(member, detail, verdicts, replacements) for member in roster.members),
        works=_works(found, lost),
        record=record,
        created_tx=found.bounty.created.origin.tx_hash,
    )


def _milestones(detail: BountyDetail, bounty: Bounty, made: tuple[Payment, ...], now: int) -> tuple[Milestone, ...]:
    """Return the moments of a bounty in order; omit those that a decision made meaningless."""
    facts = detail.facts
    planned = [
        Milestone("Created", bounty.created.origin.time, is_past=True),
        Milestone("Submissions close", facts.submission_deadline, facts.submission_deadline <= now),
        Milestone("Work can be opened", facts.reveal_at, facts.reveal_at <= now),
        Milestone("Judging ends", facts.judging_deadline, facts.judging_deadline <= now),
    ]
    if bounty.finalized is None:
        return tuple(planned)
    decided = bounty.finalized.origin.time
    if facts.settlement_reason is SettlementReason.NO_SUBMISSIONS:
        planned = planned[:2]
    else:
        planned = [each for each in planned if each.at is not None and each.at <= decided]
    claims = [payment.claim.time for payment in made if payment.claim is not None]
    is_paid = bool(made) and len(claims) == len(made)
    paid = Milestone("All paid out", max(claims) if is_paid else None, is_past=is_paid)
    return (*planned, Milestone("Decided", decided, is_past=True), paid)


def _differences(challenge: Challenge | None, detail: BountyDetail) -> tuple[TermDifference, ...]:
    """Return where the page's terms differ from the chain's: anyone can fund a bounty with any page."""
    is_no_page = challenge is not None and challenge.page is None
    return () if detail.challenge_terms is None or is_no_page else detail.challenge_terms.differences


def _judge(
    member: RosterMember,
    detail: BountyDetail,
    verdicts: tuple[RecordedVerdict, ...],
    replacements: tuple[ReplacementRow, ...],
) -> Judge:
    account = member.guardian_address
    recorded = next((each for each in verdicts if each.verdict.guardian_address == account), None)
    if recorded is None:
        return Judge(member)
    verdict = recorded.verdict
    own = tuple(each for each in replacements if each.guardian_address == account)
    content = recorded.content
    if recorded.withheld is not None or content is None or report_commitment(content) != verdict.report_commitment:
        return Judge(member, verdict, replacements=own, withheld=recorded.withheld)
    try:
        document = parse_verdict(content)
    except ServiceError:  # a Guardian may record any commitment
        return Judge(member, verdict, as_text(content), replacements=own)
    stated = (document.chain_id, document.hub_address, document.bounty_id, document.guardian_address)
    stated_kind = (document.kind, document.solver_address, document.submission_commitment)
    is_about_this = (stated == (detail.chain_id, detail.hub_address, detail.bounty_id, account)) and stated_kind == (
        verdict.kind,
        verdict.solver_address,
        verdict.submission_commitment,
    )
    return Judge(member, verdict, render(document.body), is_about_this, own)


def _works(found: IndexedBounty, lost: Mapping[Address, UnixSeconds | None]) -> tuple[ShownWork, ...]:
    """Return the earliest Submissions, in the order in which they are numbered, here and by the scripts."""
    ending = found.bounty.ending
    winner = None if ending is None else (ending.winner, ending.submission_commitment)
    ordered = sorted(found.submissions, key=lambda each: (each.origin.time, each.event.solver))
    return tuple(
        ShownWork(each, (each.event.solver, each.event.submission_commitment) == winner, lost.get(each.event.solver))
        for each in ordered[:SHOWN_SUBMISSIONS]
    )
