"""The Hub's events about one bounty in words, for people; amounts in base units of the escrow token."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from service_common.chain.events import BountyFinalized, HubEvent, VerdictRecorded
from service_common.domain.lifecycle import Outcome, SettlementReason, VerdictKind

_WORDS: Final[Mapping[str, str]] = {
    "BountyCreated": "created by {poster} with {escrow_amount} base units in escrow",
    "SubmissionRecorded": "{solver} submitted {submission_commitment}",
    "AwardClaimed": "{solver} claimed the award, {amount} base units",
    "RefundClaimed": "{poster} claimed {amount} base units back",
    "GuardianFeeClaimed": "{guardian} claimed a Guardian's share, {amount} base units",
    "ProtocolFeeClaimed": "{recipient} claimed the protocol fee, {amount} base units",
}


def happening(found: HubEvent) -> str:
    """One sentence; ``ValueError`` for numbers that the Hub never emits."""
    if isinstance(found, VerdictRecorded):
        return f"{found.guardian} judged: {_verdict(found)}"
    if isinstance(found, BountyFinalized):
        return f"it is final: {_end(found)}"
    name = type(found).__name__
    return _WORDS.get(name, name).format(**asdict(found))


def _verdict(found: VerdictRecorded) -> str:
    if VerdictKind.of_number(found.kind) is VerdictKind.AWARDED:
        return f"award {found.solver} for {found.submission_commitment}"
    return "no valid Submission"


def _end(found: BountyFinalized) -> str:
    reason = SettlementReason.of_number(found.reason)
    why = reason.value.replace("_", " ") if reason else "no reason"
    if Outcome.of_number(found.outcome) is Outcome.AWARDED:
        return f"awarded to {found.winner} ({why})"
    return f"no valid Submission ({why}); {found.refund} base units go back to the Poster"
