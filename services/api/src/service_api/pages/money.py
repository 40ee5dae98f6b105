"""Who gets what of a bounty's escrow: in each ending while it is open, and who has been paid once it is final.

Computed here from the bounty's own figures by the rules of the Hub.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.domain.money.amounts import AmountDue, AmountKind, settlement
from bounty_protocol.types import Address, TokenAmount
from bounty_protocol.wire.bounties import Facts

from service_api.pages.rows import ClaimRow

KINDS: Final = {
    AmountKind.WINNER_AWARD: "Award to the winner",
    AmountKind.POSTER_REFUND: "Refund to the Poster",
    AmountKind.GUARDIAN_FEE: "Fee of a Guardian",
    AmountKind.PROTOCOL_FEE: "Protocol fee",
}


@dataclass(frozen=True, slots=True)
class PossibleEnding:
    """One way in which a bounty can end, and what each party gets then."""

    name: str
    winner: TokenAmount
    poster: TokenAmount
    guardians: TokenAmount
    """The fee of all Guardians together, if each of them records a Verdict."""
    protocol: TokenAmount


@dataclass(frozen=True, slots=True)
class Payment:
    """An amount that a party may pull, and the claim that did it."""

    name: str
    due: AmountDue
    claim: ClaimRow | None


def guardian_share(facts: Facts, roster_size: int) -> TokenAmount:
    """Return the reward of each Guardian with a recorded Verdict."""
    return TokenAmount(facts.guardian_fee // roster_size)


def endings(facts: Facts, roster_size: int) -> tuple[PossibleEnding, ...]:
    """Return the endings of an open bounty; ``ValueError`` for amounts that no Hub can hold."""
    rejected = Outcome.NO_VALID_SUBMISSION
    return (
        _ending("A Submission is awarded", facts, Outcome.AWARDED, roster_size, roster_size),
        _ending("The Guardians find no valid Submission", facts, rejected, roster_size, roster_size),
        _ending("No Guardian judges in time", facts, rejected, roster_size, 0),
    )


def _ending(name: str, facts: Facts, outcome: Outcome, roster_size: int, verdicts: int) -> PossibleEnding:
    found = settlement(
        outcome,
        escrow_amount=facts.escrow_amount,
        protocol_fee=facts.protocol_fee,
        guardian_fee=facts.guardian_fee,
        roster_size=roster_size,
        verdict_count=verdicts,
    )
    guardians = TokenAmount(found.guardian_fee_each * found.guardian_fee_count)
    return PossibleEnding(name, found.award, found.refund, guardians, found.protocol_fee)


def payments(amounts: Sequence[AmountDue], claims: Sequence[ClaimRow]) -> tuple[Payment, ...]:
    """Return each amount with its claim: of the same kind, account and value."""
    left = {(claim.kind, claim.recipient, claim.amount): claim for claim in claims}
    return tuple(Payment(KINDS[due.kind], due, left.get((due.kind, due.recipient, due.amount))) for due in amounts)


def waiting_for(made: Sequence[Payment], account: Address) -> tuple[Payment, ...]:
    """Return the amount that this account has not claimed yet."""
    return tuple(each for each in made if each.due.recipient == account and each.claim is None)
