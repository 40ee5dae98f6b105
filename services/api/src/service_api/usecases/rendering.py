"""Indexed Hub state in the shapes of the interface."""

from service_common.db.hub_reads import FeePolicy, Finalization, Head, IndexedBounty, IndexedSubmission
from service_common.domain.lifecycle import BountyStatus, Outcome, Schedule
from service_common.domain.record import Winner
from service_common.types import UnixSeconds
from service_common.wire.bounties import ActiveSubmission, Block, Facts
from service_common.wire.deployment import CurrentFees
from service_common.wire.values import Finality


def schedule_of(bounty: IndexedBounty) -> Schedule:
    """The bounty's chain times."""
    return Schedule(bounty.submission_deadline, bounty.reveal_at, bounty.judging_deadline)


def status_of(bounty: IndexedBounty) -> BountyStatus:
    """``open`` until an ending is indexed."""
    return BountyStatus.OPEN if bounty.finalization is None else BountyStatus.FINAL


def facts_of(bounty: IndexedBounty, at: UnixSeconds) -> Facts:
    """``facts`` as of the indexed block's time."""
    schedule, status, ending = schedule_of(bounty), status_of(bounty), bounty.finalization
    return Facts(
        status=status,
        accepting=schedule.accepting(status, at),
        judgeable=schedule.judgeable(status, at),
        poster_address=bounty.poster,
        escrow_amount=bounty.escrow_amount,
        spec_commitment=bounty.spec_commitment,
        submission_deadline=bounty.submission_deadline,
        reveal_at=bounty.reveal_at,
        judging_deadline=bounty.judging_deadline,
        guardian_roster_hash=bounty.guardian_roster_hash,
        protocol_fee=bounty.protocol_fee,
        guardian_fee=bounty.guardian_fee,
        outcome=ending.outcome if ending else None,
        settlement_reason=ending.reason if ending else None,
        winner=_winner(ending),
    )


def submission_of(submission: IndexedSubmission) -> ActiveSubmission:
    """One entry of ``active_submissions``."""
    return ActiveSubmission(
        solver_address=submission.solver,
        submission_commitment=submission.submission_commitment,
        submitted_at=submission.origin.time,
        block_number=submission.origin.block_number,
        block_hash=submission.origin.block_hash,
    )


def block_of_change(bounty: IndexedBounty) -> Block:
    """The block that last changed the bounty's own facts."""
    origin = bounty.finalization.origin if bounty.finalization else bounty.origin
    return Block(origin.block_number, origin.block_hash)


def finality_of(bounty: IndexedBounty, head: Head) -> Finality:
    """How far the facts shown can still change."""
    return Finality.FINALIZED if head.is_finalized(block_of_change(bounty).number) else Finality.UNSAFE


def fees_of(fees: FeePolicy) -> CurrentFees:
    """``fee_policy``."""
    return CurrentFees(fees.protocol_fee_bps, fees.guardian_fee_bps, fees.recipient)


def _winner(ending: Finalization | None) -> Winner | None:
    """``winner``, or null without one."""
    if ending is None or ending.outcome is not Outcome.AWARDED:
        return None
    return Winner(ending.winner, ending.submission_commitment)
