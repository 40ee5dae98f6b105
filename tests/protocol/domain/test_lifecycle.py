"""States, numbers and exact boundaries."""

import pytest
from bounty_protocol.domain.lifecycle.hub_events import EVENT_FIELDS, BountyFinalized, event_of
from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome, Schedule
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


@pytest.mark.parametrize("number", [-1, 0, len(Outcome) + 1])
def test_number_that_is_no_outcome_is_no_event(number: int) -> None:
    with pytest.raises(ValueError, match="Outcome"):
        event_of(BountyFinalized, dict.fromkeys(EVENT_FIELDS[BountyFinalized], 1) | {"outcome": number})
