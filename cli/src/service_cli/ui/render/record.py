"""A VerificationRecord as text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bounty_protocol.domain.money import AmountKind

from service_cli.ui.items import Field, Heading, Item
from service_cli.ui.phrases import short, tokens, why
from service_cli.ui.render.screen import Screen

if TYPE_CHECKING:
    from bounty_protocol.domain.record import RosterVerdict, VerificationRecord

_AMOUNTS: Final = {
    AmountKind.WINNER_AWARD: "Award",
    AmountKind.POSTER_REFUND: "Refund",
    AmountKind.GUARDIAN_FEE: "Share",
    AmountKind.PROTOCOL_FEE: "Fee",
}


def record_items(record: "VerificationRecord", screen: Screen) -> Iterator[Item]:
    """The outcome, the Verdicts and the amounts of a VerificationRecord."""
    winner = record.winner
    outcome = "no winner" if winner is None else screen.good("awarded")
    yield Heading(f"Outcome of bounty {record.bounty_id}")
    yield Field("Outcome", f"{outcome}: {why(record.settlement_reason)}")
    if winner is not None:
        yield Field("Winner", winner.solver_address, whole=True)
        yield Field("Submission", winner.submission_commitment, whole=True)
    yield Heading("Verdicts")
    for verdict in record.verdicts:
        yield Field(short(verdict.guardian_address), _verdict(verdict))
    yield Heading("Amounts")
    for due in record.amounts:
        yield Field(_AMOUNTS[due.kind], f"{tokens(due.amount, screen)} to {due.recipient}")


def _verdict(verdict: "RosterVerdict") -> str:
    if verdict.kind is None:
        return "none recorded"
    supported = "" if verdict.supported_result else ", not the outcome"
    if verdict.solver_address is None:
        return f"no valid Submission{supported}"
    return f"award {short(verdict.solver_address)}{supported}"
