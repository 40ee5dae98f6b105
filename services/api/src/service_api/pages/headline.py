"""The head of a bounty's page: what is at stake, or what came of it; what is to be claimed; what one does next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import TokenAmount
from bounty_protocol.wire.bounties import Facts

from service_api.pages.money import Payment
from service_api.pages.stage import Stage

NEXT: Final = {
    Stage.ACCEPTING: "Submit work",
    Stage.JUDGING: "Judge",
    Stage.DUE: "Settle it",
}
"""The button of a stage, before a wallet shows whose it is."""


@dataclass(frozen=True, slots=True)
class Headline:
    """``amount`` is named by ``label``; ``waiting`` is what nobody has claimed, None while that is not known."""

    label: str
    amount: TokenAmount
    waiting: TokenAmount | None
    act: str | None
    """The text of the one button; None if nothing is left to do, or nothing can be done yet."""


def headline_of(facts: Facts, stage: Stage, made: Sequence[Payment]) -> Headline:
    """Return the headline of a bounty at a stage, from its payments."""
    waiting = TokenAmount(sum(each.due.amount for each in made if each.claim is None)) if made else None
    if stage is Stage.AWARDED:
        act = "Claim or get the work" if waiting else "Get the work"
        return Headline("Won", facts.award, waiting, act)
    if stage is Stage.REJECTED:
        returned = [each.due.amount for each in made if each.due.kind is AmountKind.POSTER_REFUND]
        label = "Back to the Poster" if made else "Escrow"
        amount = TokenAmount(sum(returned)) if made else facts.escrow_amount
        return Headline(label, amount, waiting, "Claim" if waiting else None)
    return Headline("The winner gets", facts.award, None, NEXT.get(stage))
