"""The money table: what each party is owed by a final bounty, exactly as the Hub computes it (docs/hub.md).

The amounts of a bounty always add up to its escrow; fees round down; silence pays nobody but the Poster. Figures that
no Hub can hold (fees at or above the escrow, more Verdicts than members) raise ``ValueError``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.types import Address, TokenAmount

BASIS_POINTS: Final = 10_000


class AmountKind(StrEnum):
    """Why an amount is owed."""

    WINNER_AWARD = "winner_award"
    POSTER_REFUND = "poster_refund"
    GUARDIAN_FEE = "guardian_fee"
    PROTOCOL_FEE = "protocol_fee"


def whole_tokens(amount: int, decimals: int) -> str:
    """Format smallest units as a decimal number of whole tokens, exactly; with implausible decimals leave them
    unchanged.
    """
    if not 0 < decimals <= 77:
        return str(amount)
    digits = str(amount).rjust(decimals + 1, "0")
    return f"{digits[:-decimals]}.{digits[-decimals:]}".rstrip("0").rstrip(".")


@dataclass(frozen=True, slots=True)
class AmountDue:
    """One amount one party may pull."""

    recipient: Address
    amount: TokenAmount
    kind: AmountKind


@dataclass(frozen=True, slots=True)
class Settlement:
    """The figures of ``BountyFinalized``."""

    award: TokenAmount
    refund: TokenAmount
    protocol_fee: TokenAmount
    guardian_fee_each: TokenAmount
    guardian_fee_count: int


def fee_amount(escrow_amount: int, fee_bps: int) -> TokenAmount:
    """Compute a fee in smallest units: floor(escrow * basis points / 10,000)."""
    return TokenAmount(escrow_amount * fee_bps // BASIS_POINTS)


def settlement(
    outcome: Outcome,
    *,
    escrow_amount: int,
    protocol_fee: int,
    guardian_fee: int,
    roster_size: int,
    verdict_count: int,
) -> Settlement:
    """Split the escrow. The fees are the amounts snapshotted at creation.

    Each Guardian with a recorded Verdict earns floor(guardian fee / roster size); what no Guardian earns, and the
    dust, goes to the Poster. The protocol fee is due only on an award.
    """
    if not 0 <= verdict_count <= roster_size or roster_size < 1:
        raise ValueError("more Verdicts than Guardians")
    if min(protocol_fee, guardian_fee) < 0 or protocol_fee + guardian_fee >= escrow_amount:
        raise ValueError("fees must stay below the escrow")
    each = guardian_fee // roster_size
    paid_to_guardians = each * verdict_count
    awarded = outcome is Outcome.AWARDED
    award = escrow_amount - protocol_fee - guardian_fee if awarded else 0
    protocol = protocol_fee if awarded else 0
    return Settlement(
        award=TokenAmount(award),
        refund=TokenAmount(escrow_amount - award - protocol - paid_to_guardians),
        protocol_fee=TokenAmount(protocol),
        guardian_fee_each=TokenAmount(each),
        guardian_fee_count=verdict_count,
    )


def amounts_due(
    figures: Settlement,
    *,
    winner: Address | None,
    poster: Address,
    guardians_with_verdict: Sequence[Address],
    protocol_fee_recipient: Address,
) -> tuple[AmountDue, ...]:
    """List who may claim what: winner, Poster, Guardians in the given order, protocol. Leave out amounts of zero."""
    if len(guardians_with_verdict) != figures.guardian_fee_count or (winner is None) != (figures.award == 0):
        raise ValueError("the parties do not match the amounts")
    rows = [] if winner is None else [AmountDue(winner, figures.award, AmountKind.WINNER_AWARD)]
    rows.append(AmountDue(poster, figures.refund, AmountKind.POSTER_REFUND))
    rows += [AmountDue(each, figures.guardian_fee_each, AmountKind.GUARDIAN_FEE) for each in guardians_with_verdict]
    rows.append(AmountDue(protocol_fee_recipient, figures.protocol_fee, AmountKind.PROTOCOL_FEE))
    return tuple(row for row in rows if row.amount > 0)
