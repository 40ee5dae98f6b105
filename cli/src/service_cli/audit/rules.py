"""Whether the Hub's rules were kept (docs/hub.md), and whether the Hub's own views agree with its log.

Each rule is one check. Outcome, reason and amounts are derived again from Submissions, Verdicts and times and compared
with what the Hub announced. An endpoint that hides or invents a log would have to forge the views, too: every field of
``getBounty`` is compared, each Guardian's Verdict and each Solver's Submission.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields

from bounty_protocol.domain.hub_events import (
    AwardClaimed,
    BountyFinalized,
    BountyTerms,
    GuardianFeeClaimed,
    Logged,
    ProtocolFeeClaimed,
    RefundClaimed,
    SubmissionRecorded,
    VerdictRecorded,
)
from bounty_protocol.domain.lifecycle import Outcome, SettlementReason, VerdictKind
from bounty_protocol.domain.money import MAX_GUARDIAN_FEE_BPS, MAX_PROTOCOL_FEE_BPS, fee_amount, settlement
from bounty_protocol.domain.roster import MAX_MEMBERS
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import ZERO_ADDRESS, ZERO_BYTES32, Address, Bytes32

from service_cli.audit.events import Difference
from service_cli.audit.history import BountyHistory, Read, answer_of
from service_cli.audit.report import Report, differing

Choice = tuple[VerdictKind, Address, Bytes32]


def check_rules(history: BountyHistory, report: Report) -> None:
    """Every rule that a log can show."""
    roster, created = history.roster, history.created.event
    report.judge(
        "rules.roster", _roster(history), f"roster {roster.version}: its members hash to what the bounty pinned"
    )
    report.judge("rules.terms", _terms(history), "fees, roster and times are ones that the Hub takes")
    count = len(history.submissions)
    report.judge("rules.submissions", _submissions(history), f"{count} recorded, each in time and by one who may")
    count = len(history.verdicts)
    report.judge("rules.verdicts", _verdicts(history), f"{count} recorded, each in time, by the roster, on active work")
    outcome = history.finalized.event.outcome
    report.judge("rules.outcome", _outcome(history), f"{outcome} follows from the Verdicts and the times")
    report.judge("rules.amounts", _amounts(history), f"the parts of {created.escrow_amount} follow from the outcome")
    report.judge(
        "rules.claims", _claims(history), f"{len(history.claims)} so far, each once, of what is due, by its party"
    )


def _roster(history: BountyHistory) -> Iterator[Difference]:
    roster, created = history.roster, history.created.event
    try:
        roster.verify(history.chain.chain_id, history.chain.hub_address, created.guardian_roster_hash)
    except ServiceError:
        computed = roster.compute_hash(history.chain.chain_id, history.chain.hub_address)
        yield differing("guardian_roster_hash", computed, created.guardian_roster_hash)
    size = len(roster.members)
    if not (1 <= size <= MAX_MEMBERS and size < 2 * roster.quorum <= 2 * size):
        yield differing("quorum", f"{roster.quorum} of {size}", "more than half of at most fifteen")


def _terms(history: BountyHistory) -> Iterator[Difference]:
    created = history.created.event
    for name, fee, most in (
        ("protocol_fee", created.protocol_fee, MAX_PROTOCOL_FEE_BPS),
        ("guardian_fee", created.guardian_fee, MAX_GUARDIAN_FEE_BPS),
    ):
        if fee > fee_amount(created.escrow_amount, most):
            yield differing(name, fee, f"at most {most} basis points of {created.escrow_amount}")
    times = (history.created.origin.time, created.submission_deadline, created.reveal_at, created.judging_deadline)
    if not times[0] < times[1] <= times[2] < times[3]:
        yield differing("times", times, "creation, submission deadline, reveal point, judging deadline in order")
    if created.poster in history.roster.accounts:
        yield differing("poster", created.poster, "nobody of the pinned roster")


def _submissions(history: BountyHistory) -> Iterator[Difference]:
    created = history.created.event
    for each in history.submissions:
        name, solver = f"submission {each.event.submission_commitment}", each.event.solver
        if each.origin.time >= created.submission_deadline or not _between(history, each):
            yield differing(name, f"recorded at {each.origin.time}", f"before {created.submission_deadline}")
        if solver == created.poster or solver in history.roster.accounts:
            yield differing(name, f"by {solver}", "neither the Poster nor a Guardian of the roster")
        if each.event.submission_commitment == ZERO_BYTES32:
            yield differing(name, "zero", "a commitment")


def _verdicts(history: BountyHistory) -> Iterator[Difference]:
    active: dict[Address, Bytes32] = {}
    for each in history.events:
        if isinstance(each.event, SubmissionRecorded):
            active[each.event.solver] = each.event.submission_commitment
        elif isinstance(each.event, VerdictRecorded):
            yield from _verdict(history, Logged(each.event, each.origin), active)


def _verdict(
    history: BountyHistory, each: Logged[VerdictRecorded], active: Mapping[Address, Bytes32]
) -> Iterator[Difference]:
    """One Verdict among the Submissions that were active when it was recorded."""
    created, verdict = history.created.event, each.event
    name, named = f"verdict {verdict.report_commitment}", (verdict.solver, verdict.submission_commitment)
    if not (created.reveal_at <= each.origin.time < created.judging_deadline and _between(history, each)):
        yield differing(
            name, f"recorded at {each.origin.time}", f"from {created.reveal_at} to {created.judging_deadline}"
        )
    if verdict.guardian not in history.roster.accounts:
        yield differing(name, f"by {verdict.guardian}", "a Guardian of the pinned roster")
    if verdict.kind is VerdictKind.AWARDED and active.get(named[0]) != named[1]:
        yield differing(name, f"names {named[1]} of {named[0]}", "that Solver's active Submission")
    if verdict.kind is VerdictKind.NO_VALID_SUBMISSION and named != (ZERO_ADDRESS, ZERO_BYTES32):
        yield differing(name, f"names {named[1]} of {named[0]}", "nobody")
    if not active or verdict.report_commitment == ZERO_BYTES32:
        yield differing(name, "no Submission, or no report", "both")


def _outcome(history: BountyHistory) -> Iterator[Difference]:
    end = history.finalized.event
    decided = _decided(history)
    if decided is not None:
        kind, winner, commitment = decided[0]
        expected = (Outcome(kind.value), SettlementReason.JUDGED, winner, commitment)
        if decided[1].origin.tx_hash != history.finalized.origin.tx_hash or before(history.finalized, decided[1]):
            yield differing(
                "settlement", history.finalized.origin.tx_hash, f"the deciding Verdict's {decided[1].origin.tx_hash}"
            )
    else:
        reason, possible_from = _silence(history)
        expected = (Outcome.NO_VALID_SUBMISSION, reason, ZERO_ADDRESS, ZERO_BYTES32)
        if history.finalized.origin.time < possible_from:
            yield differing("settlement", f"at {history.finalized.origin.time}", f"not before {possible_from}")
    found = (end.outcome, end.reason, end.winner, end.submission_commitment)
    for name, theirs, ours in zip(("outcome", "reason", "winner", "submission"), found, expected, strict=True):
        if theirs != ours:
            yield differing(name, theirs, ours)


def _decided(history: BountyHistory) -> tuple[Choice, Logged[VerdictRecorded]] | None:
    """The choice that first had a quorum of latest Verdicts, and the Verdict that completed it."""
    latest: dict[Address, Choice] = {}
    for each in history.verdicts:
        choice = (each.event.kind, each.event.solver, each.event.submission_commitment)
        latest[each.event.guardian] = choice
        if Counter(latest.values())[choice] >= history.roster.quorum:
            return choice, each
    return None


def _silence(history: BountyHistory) -> tuple[SettlementReason, int]:
    """Why a bounty without a quorum ends, and from when anybody may settle it."""
    created = history.created.event
    if not history.submissions:
        return SettlementReason.NO_SUBMISSIONS, created.submission_deadline
    silent = SettlementReason.QUORUM_NOT_REACHED if history.verdicts else SettlementReason.GUARDIANS_SILENT
    return silent, created.judging_deadline


def _amounts(history: BountyHistory) -> Iterator[Difference]:
    created, end = history.created.event, history.finalized.event
    try:
        figures = settlement(
            end.outcome,
            escrow_amount=created.escrow_amount,
            protocol_fee=created.protocol_fee,
            guardian_fee=created.guardian_fee,
            roster_size=len(history.roster.members),
            verdict_count=len(history.latest_verdicts()),
        )
    except ValueError as error:
        yield differing("amounts", error, "figures that a Hub can hold")
        return
    for name in ("award", "refund", "protocol_fee", "guardian_fee_each", "guardian_fee_count"):
        if getattr(end, name) != getattr(figures, name):
            yield differing(name, getattr(end, name), getattr(figures, name))


def _claims(history: BountyHistory) -> Iterator[Difference]:
    due = claimable(history.finalized.event, history)
    for each in history.claims:
        party = claimant(each.event)
        expected = due.pop((type(each.event), party), None)
        if expected != each.event.amount or before(each, history.finalized):
            yield differing(f"{type(each.event).__name__} {party}", each.event.amount, expected or "nothing")


def claimable(end: BountyFinalized, history: BountyHistory) -> dict[tuple[type, Address], int]:
    """The amount that each party may pull, by the event that shows it."""
    created = history.created.event
    due: dict[tuple[type, Address], int] = {
        (AwardClaimed, end.winner): end.award,
        (RefundClaimed, created.poster): end.refund,
        (ProtocolFeeClaimed, created.protocol_fee_recipient): end.protocol_fee,
    }
    due |= {(GuardianFeeClaimed, guardian): end.guardian_fee_each for guardian in history.latest_verdicts()}
    return due


def claimant(event: AwardClaimed | RefundClaimed | GuardianFeeClaimed | ProtocolFeeClaimed) -> Address:
    """Who pulled."""
    if isinstance(event, AwardClaimed):
        return event.solver
    if isinstance(event, RefundClaimed):
        return event.poster
    return event.guardian if isinstance(event, GuardianFeeClaimed) else event.recipient


def before(first: Logged[object], second: Logged[object]) -> bool:
    """Whether the first is earlier in the chain."""
    return first.origin.place < second.origin.place


def _between(history: BountyHistory, each: Logged[SubmissionRecorded] | Logged[VerdictRecorded]) -> bool:
    """After the creation, before the end."""
    return before(history.created, each) and before(each, history.finalized)


def check_views(history: BountyHistory, report: Report) -> None:
    """Log and views agree."""
    reads = {(read.function, read.arguments): read for read in history.chain.reads}
    found = [
        difference
        for name, expected in _expected_views(history).items()
        for difference in _view_differences(reads, name, expected)
    ]
    count = len(history.events)
    report.judge(
        "chain.views", found, f"{count} logs agree with the Hub's views at block {history.chain.finalized.number}"
    )


Name = tuple[str, tuple[str, ...]]


def _expected_views(history: BountyHistory) -> dict[Name, Mapping[str, object]]:
    bounty_id = str(history.chain.bounty_id)
    latest = history.latest_verdicts()
    expected: dict[Name, Mapping[str, object]] = {
        ("getBounty", (bounty_id,)): _bounty_view(history),
    }
    for each in history.active_submissions():
        name: Name = ("getSubmission", (bounty_id, each.event.solver))
        expected[name] = {"": each.event.submission_commitment}
    for guardian in history.roster.accounts:
        verdict = latest[guardian].event if guardian in latest else None
        expected["getVerdict", (bounty_id, guardian)] = {
            "kind": verdict.kind.number if verdict else 0,
            "solver": verdict.solver if verdict else ZERO_ADDRESS,
            "submission_commitment": verdict.submission_commitment if verdict else ZERO_BYTES32,
        }
    return expected


def _bounty_view(history: BountyHistory) -> dict[str, object]:
    created, end = history.created.event, history.finalized.event
    due = claimable(end, history)
    for each in history.claims:
        due.pop((type(each.event), claimant(each.event)), None)
    kinds = {type(each.event) for each in history.claims}
    return {field.name: getattr(created, field.name) for field in fields(BountyTerms)} | {
        "has_submissions": bool(history.submissions),
        "verdict_count": len(history.latest_verdicts()),
        "outcome": end.outcome.number,
        "reason": end.reason.number,
        "winner": end.winner,
        "winning_submission": end.submission_commitment,
        "award_due": due.get((AwardClaimed, end.winner), 0),
        "refund_due": due.get((RefundClaimed, created.poster), 0),
        "protocol_fee_due": due.get((ProtocolFeeClaimed, created.protocol_fee_recipient), 0),
        "guardian_fees_due": sum(amount for (kind, _), amount in due.items() if kind is GuardianFeeClaimed),
        "award_claimed": AwardClaimed in kinds,
        "refund_claimed": RefundClaimed in kinds,
        "protocol_fee_claimed": ProtocolFeeClaimed in kinds,
    }


def _view_differences(reads: Mapping[Name, Read], name: Name, expected: Mapping[str, object]) -> Iterator[Difference]:
    function, arguments = name
    path = f"{function}({', '.join(arguments)})"
    read = reads.get(name)
    fields = None if read is None else answer_of(read)
    if fields is None:
        yield differing(path, "no answer of the Hub's shape", "one")
        return
    for field, ours in expected.items():
        if fields.get(field) != ours:
            yield differing(f"{path}.{field}" if field else path, fields.get(field), ours)
