"""The Hub's events about one bounty in words, for people; amounts as the caller tells them."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Final

from service_common.chain.events import BountyFinalized, HubEvent, VerdictRecorded
from service_common.domain.lifecycle import Outcome, SettlementReason, VerdictKind

_WORDS: Final[Mapping[str, str]] = {
    "BountyCreated": "created by {poster} with {escrow_amount} in escrow",
    "SubmissionRecorded": "{solver} submitted {submission_commitment}",
    "AwardClaimed": "{solver} claimed the award, {amount}",
    "RefundClaimed": "{poster} claimed {amount} back",
    "GuardianFeeClaimed": "{guardian} claimed a Guardian's share, {amount}",
    "ProtocolFeeClaimed": "{recipient} claimed the protocol fee, {amount}",
}
_AMOUNTS: Final = {"escrow_amount", "amount"}


def happening(found: HubEvent, told: Callable[[int], str]) -> str:
    """One sentence, with ``told`` for amounts; ``ValueError`` for numbers that the Hub never emits."""
    if isinstance(found, VerdictRecorded):
        return f"{found.guardian} judged: {_verdict(found)}"
    if isinstance(found, BountyFinalized):
        return f"it is final: {_end(found, told)}"
    name = type(found).__name__
    values = {key: told(value) if key in _AMOUNTS else value for key, value in asdict(found).items()}
    return _WORDS.get(name, name).format(**values)


def _verdict(found: VerdictRecorded) -> str:
    if VerdictKind.of_number(found.kind) is VerdictKind.AWARDED:
        return f"award {found.solver} for {found.submission_commitment}"
    return "no valid Submission"


def _end(found: BountyFinalized, told: Callable[[int], str]) -> str:
    reason = SettlementReason.of_number(found.reason)
    why = reason.value.replace("_", " ") if reason else "no reason"
    if Outcome.of_number(found.outcome) is Outcome.AWARDED:
        return f"awarded to {found.winner} ({why})"
    return f"no valid Submission ({why}); {told(found.refund)} go back to the Poster"
