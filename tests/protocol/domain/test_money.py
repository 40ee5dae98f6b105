"""The money table."""

import pytest
from bounty_protocol.domain.lifecycle.states import Outcome
from bounty_protocol.domain.money.amounts import AmountKind, amounts_due, fee_amount, settlement
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.samples import GUARDIANS, POSTER, PROTOCOL, SOLVER

AWARDED, NOBODY = Outcome.AWARDED, Outcome.NO_VALID_SUBMISSION


@pytest.mark.parametrize(
    ("outcome", "verdicts", "award", "refund", "protocol"),
    [
        (AWARDED, 3, 890, 1, 10),
        (AWARDED, 2, 890, 34, 10),
        (NOBODY, 3, 0, 901, 0),
        (NOBODY, 1, 0, 967, 0),
        (NOBODY, 0, 0, 1000, 0),
    ],
)
def test_settlement_of_1000_is_as_by_hand(
    outcome: Outcome, verdicts: int, award: int, refund: int, protocol: int
) -> None:
    figures = settlement(
        outcome, escrow_amount=1000, protocol_fee=10, guardian_fee=100, roster_size=3, verdict_count=verdicts
    )
    assert (figures.award, figures.refund, figures.protocol_fee) == (award, refund, protocol)
    assert (figures.guardian_fee_each, figures.guardian_fee_count) == (33, verdicts)


@given(
    st.sampled_from(Outcome),
    st.integers(1, 10**30),
    st.integers(0, 1_000),
    st.integers(0, 2_000),
    st.integers(1, 15),
    st.data(),
)
def test_every_unit_is_owed_exactly_once(
    outcome: Outcome, escrow: int, protocol_bps: int, guardian_bps: int, size: int, data: st.DataObject
) -> None:
    verdicts = data.draw(st.integers(0, size))
    figures = settlement(
        outcome,
        escrow_amount=escrow,
        protocol_fee=fee_amount(escrow, protocol_bps),
        guardian_fee=fee_amount(escrow, guardian_bps),
        roster_size=size,
        verdict_count=verdicts,
    )
    guardians = figures.guardian_fee_each * figures.guardian_fee_count
    assert figures.award + figures.refund + figures.protocol_fee + guardians == escrow
    assert min(figures.award, figures.refund, figures.protocol_fee, guardians) >= 0
    assert (figures.award > 0) is (outcome is AWARDED)


@pytest.mark.parametrize(
    "changes",
    [{"verdict_count": 4}, {"verdict_count": -1}, {"roster_size": 0}, {"protocol_fee": 900}, {"guardian_fee": -1}],
)
def test_settlement__figures_no_hub_can_hold__refused(changes: dict[str, int]) -> None:
    figures = {
        "escrow_amount": 1000,
        "protocol_fee": 10,
        "guardian_fee": 100,
        "roster_size": 3,
        "verdict_count": 0,
    } | changes
    with pytest.raises(ValueError, match=r"."):
        settlement(AWARDED, **figures)


def test_amounts_of_an_award_are_in_order() -> None:
    figures = settlement(AWARDED, escrow_amount=1000, protocol_fee=10, guardian_fee=100, roster_size=3, verdict_count=2)
    rows = amounts_due(
        figures,
        winner=SOLVER,
        poster=POSTER,
        guardians_with_verdict=GUARDIANS[:2],
        protocol_fee_recipient=PROTOCOL,
    )
    assert [(row.recipient, row.amount, row.kind) for row in rows] == [
        (SOLVER, 890, AmountKind.WINNER_AWARD),
        (POSTER, 34, AmountKind.POSTER_REFUND),
        (GUARDIANS[0], 33, AmountKind.GUARDIAN_FEE),
        (GUARDIANS[1], 33, AmountKind.GUARDIAN_FEE),
        (PROTOCOL, 10, AmountKind.PROTOCOL_FEE),
    ]


def test_amounts__nothing_owed__row_left_out() -> None:
    figures = settlement(AWARDED, escrow_amount=90, protocol_fee=0, guardian_fee=0, roster_size=3, verdict_count=3)
    rows = amounts_due(
        figures, winner=SOLVER, poster=POSTER, guardians_with_verdict=GUARDIANS, protocol_fee_recipient=PROTOCOL
    )
    assert [(row.recipient, row.amount) for row in rows] == [(SOLVER, 90)]


def test_amounts__parties_that_do_not_fit__refused() -> None:
    figures = settlement(NOBODY, escrow_amount=90, protocol_fee=0, guardian_fee=9, roster_size=3, verdict_count=1)
    for winner, guardians in ((SOLVER, GUARDIANS[:1]), (None, GUARDIANS)):
        with pytest.raises(ValueError, match="parties"):
            amounts_due(
                figures, winner=winner, poster=POSTER, guardians_with_verdict=guardians, protocol_fee_recipient=PROTOCOL
            )
