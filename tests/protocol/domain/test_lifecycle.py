"""States, numbers and exact boundaries."""

import pytest
from bounty_protocol.domain.lifecycle import BountyStatus, Outcome, Schedule, SettlementReason, VerdictKind
from bounty_protocol.types import UnixSeconds

SCHEDULE = Schedule(UnixSeconds(100), UnixSeconds(110), UnixSeconds(200))
OPEN, FINAL = BountyStatus.OPEN, BountyStatus.FINAL


@pytest.mark.spec(92)
@pytest.mark.parametrize(("at", "expected"), [(0, True), (99, True), (100, False), (101, False)])
def test_accepting_ends_with_the_deadline(at: int, expected: bool) -> None:
    assert SCHEDULE.accepting(OPEN, at) is expected
    assert SCHEDULE.accepting(FINAL, at) is False


@pytest.mark.spec(107)
@pytest.mark.parametrize(("at", "expected"), [(109, False), (110, True), (199, True), (200, False)])
def test_judgeable_from_reveal_to_judging_deadline(at: int, expected: bool) -> None:
    assert SCHEDULE.judgeable(OPEN, at) is expected
    assert SCHEDULE.judgeable(FINAL, at) is False


@pytest.mark.parametrize(
    ("at", "has_submissions", "expected"),
    [(99, False, False), (100, False, True), (100, True, False), (199, True, False), (200, True, True)],
)
def test_settleable__around_its_boundaries__as_the_hub(at: int, has_submissions: bool, expected: bool) -> None:
    assert SCHEDULE.settleable(OPEN, at, has_submissions) is expected
    assert SCHEDULE.settleable(FINAL, at, has_submissions) is False


def test_numbers__of_the_hub__map_both_ways() -> None:
    assert [Outcome.of_number(number) for number in range(3)] == [None, Outcome.AWARDED, Outcome.NO_VALID_SUBMISSION]
    assert [VerdictKind.of_number(number) for number in range(3)] == [None, *VerdictKind]
    assert [SettlementReason.of_number(number) for number in range(5)] == [None, *SettlementReason]
    for kind in (Outcome, VerdictKind, SettlementReason):
        assert all(kind.of_number(each.number) is each for each in kind)
    assert [reason.value for reason in SettlementReason] == [
        "judged",
        "no_submissions",
        "guardians_silent",
        "quorum_not_reached",
    ]


@pytest.mark.parametrize("number", [-1, 3, 5, 255])
def test_numbers__the_hub_never_emits__refused(number: int) -> None:
    with pytest.raises(ValueError, match="Outcome"):
        Outcome.of_number(number)
    with pytest.raises(ValueError, match="VerdictKind"):
        VerdictKind.of_number(number)
    if number != 3:
        with pytest.raises(ValueError, match="SettlementReason"):
            SettlementReason.of_number(number)
