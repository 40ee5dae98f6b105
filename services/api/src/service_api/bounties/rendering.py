"""Indexed Hub state in the shapes of the interface."""

from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.domain.lifecycle.hub_events import BountyTerms, FeePolicyChanged, Logged, SubmissionRecorded
from bounty_protocol.shapes import keys
from bounty_protocol.types import UnixSeconds
from bounty_protocol.wire.bounties import ActiveSubmission, Block, Facts
from bounty_protocol.wire.deployment import CurrentFees
from bounty_protocol.wire.values import Finality
from service_common.db.hub_reads import Head

_TERMS = keys(Facts) & keys(BountyTerms)
"""A bounty's terms that the interface shows under the Hub's own names."""


def facts_of(bounty: Bounty, at: UnixSeconds) -> Facts:
    """Return ``facts`` as of the indexed block's time."""
    terms, ending = bounty.terms, bounty.ending
    return Facts(
        status=bounty.status,
        accepting=terms.schedule.accepting(bounty.status, at),
        judgeable=terms.schedule.judgeable(bounty.status, at),
        poster_address=terms.poster,
        outcome=ending.outcome if ending else None,
        settlement_reason=ending.reason if ending else None,
        winner=bounty.winner,
        **{name: getattr(terms, name) for name in _TERMS},
    )


def submission_of(submission: Logged[SubmissionRecorded]) -> ActiveSubmission:
    """Return one entry of ``active_submissions``."""
    return ActiveSubmission(
        solver_address=submission.event.solver,
        submission_commitment=submission.event.submission_commitment,
        submitted_at=submission.origin.time,
        block_number=submission.origin.block_number,
        block_hash=submission.origin.block_hash,
    )


def block_of_change(bounty: Bounty) -> Block:
    """Return the block that last changed the bounty's own facts."""
    return Block(bounty.changed_at.block_number, bounty.changed_at.block_hash)


def finality_of(bounty: Bounty, head: Head) -> Finality:
    """Return how far the facts shown can still change."""
    return Finality.FINALIZED if head.is_finalized(bounty.changed_at.block_number) else Finality.UNSAFE


def fees_of(fees: FeePolicyChanged) -> CurrentFees:
    """Return ``fee_policy``."""
    return CurrentFees(fees.protocol_fee_bps, fees.guardian_fee_bps, fees.recipient)
