"""Indexed Hub state as the API's JSON: the names are the public ones, amounts decimal strings, times integers."""

from service_common.db.hub_reads import Finalization, Head, IndexedBounty, IndexedSubmission
from service_common.domain.lifecycle import BountyStatus, Outcome, Schedule
from service_common.types import BlockNumber, Bytes32, UnixSeconds


def schedule_of(bounty: IndexedBounty) -> Schedule:
    """The bounty's chain times."""
    return Schedule(bounty.submission_deadline, bounty.reveal_at, bounty.judging_deadline)


def status_of(bounty: IndexedBounty) -> BountyStatus:
    """``open`` until an ending is indexed."""
    return BountyStatus.OPEN if bounty.finalization is None else BountyStatus.FINAL


def facts_json(bounty: IndexedBounty, at: UnixSeconds) -> dict[str, object]:
    """``facts``; ``accepting`` and ``judgeable`` are as of the indexed block's time."""
    schedule, status, ending = schedule_of(bounty), status_of(bounty), bounty.finalization
    return {
        "status": status.value,
        "accepting": schedule.accepting(status, at),
        "judgeable": schedule.judgeable(status, at),
        "poster_address": bounty.poster,
        "escrow_amount": str(bounty.escrow_amount),
        "spec_commitment": bounty.spec_commitment,
        "submission_deadline": bounty.submission_deadline,
        "reveal_at": bounty.reveal_at,
        "judging_deadline": bounty.judging_deadline,
        "guardian_roster_hash": bounty.guardian_roster_hash,
        "protocol_fee": str(bounty.protocol_fee),
        "guardian_fee": str(bounty.guardian_fee),
        "outcome": ending.outcome.value if ending else None,
        "settlement_reason": ending.reason.value if ending else None,
        "winner": winner_json(ending),
    }


def winner_json(ending: Finalization | None) -> dict[str, object] | None:
    """``winner``, or null without one."""
    if ending is None or ending.outcome is not Outcome.AWARDED:
        return None
    return {"solver_address": ending.winner, "submission_commitment": ending.submission_commitment}


def submission_json(submission: IndexedSubmission) -> dict[str, object]:
    """One entry of ``active_submissions``."""
    return {
        "solver_address": submission.solver,
        "submission_commitment": submission.submission_commitment,
        "submitted_at": submission.origin.time,
        "block_number": submission.origin.block_number,
        "block_hash": submission.origin.block_hash,
    }


def last_change(bounty: IndexedBounty) -> tuple[BlockNumber, Bytes32]:
    """The block that last changed the bounty's own facts."""
    origin = bounty.finalization.origin if bounty.finalization else bounty.origin
    return origin.block_number, origin.block_hash


def finality_json(bounty: IndexedBounty, head: Head) -> dict[str, object]:
    """``finality`` and ``block``: how far the facts shown can still change."""
    number, block_hash = last_change(bounty)
    return {
        "finality": "finalized" if head.is_finalized(number) else "unsafe",
        "block": {"number": number, "hash": block_hash},
    }
