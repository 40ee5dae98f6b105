"""An event of the Hub in one sentence, from the fields that a program gets of it."""

from collections.abc import Callable, Mapping
from typing import Final

REASONS: Final[Mapping[str, str]] = {
    "judged": "the Guardians' Verdicts decided",
    "no_submissions": "nobody submitted",
    "guardians_silent": "no Guardian recorded a Verdict",
    "quorum_not_reached": "too few Guardians agreed",
}
"""By the name of a settlement reason."""
_SENTENCES: Final[Mapping[str, str]] = {
    "BountyCreated": "created by {poster} with {escrow_amount} in escrow",
    "SubmissionRecorded": "{solver} submitted {submission_commitment}",
    "VerdictRecorded awarded": "{guardian} judged: award {solver}",
    "VerdictRecorded no_valid_submission": "{guardian} judged: no valid Submission",
    "BountyFinalized awarded": "it is final: awarded to {winner} ({reason})",
    "BountyFinalized no_valid_submission": "it is final: no winner ({reason}); {refund} go back to the Poster",
    "AwardClaimed": "{solver} claimed the award, {amount}",
    "RefundClaimed": "{poster} claimed {amount} back",
    "GuardianFeeClaimed": "{guardian} claimed a Guardian's share, {amount}",
    "ProtocolFeeClaimed": "{recipient} claimed the protocol fee, {amount}",
}
"""By the name of an event and, where it has one, its kind or outcome."""
_AMOUNTS: Final = {"escrow_amount", "amount", "refund"}


def sentence(
    name: str, fields: Mapping[str, object], amount: Callable[[int], str], value: Callable[[object], str] = str
) -> str:
    """What happened; ``amount`` shows amounts, ``value`` accounts and commitments. An unknown event is its name."""
    kind = fields.get("kind") or fields.get("outcome")
    template = _SENTENCES.get(f"{name} {kind}" if kind else name)
    if template is None:
        return value(name)
    shown = {key: value(each) for key, each in fields.items() if each is not None}
    shown |= {key: amount(int(str(fields[key]))) for key in _AMOUNTS & fields.keys()}
    reason = str(fields.get("reason"))
    return template.format(**shown | {"reason": REASONS.get(reason, reason)})
