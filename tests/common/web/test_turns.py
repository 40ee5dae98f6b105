"""Who works first, and who gets no turn."""

from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import pytest
from service_common.web.turns import Turns

from tests.waiting import wait_until

PATIENT = 60.0


@pytest.mark.attack
def test_least_used_is_next_whoever_came_before() -> None:
    turns, worked = Turns(1, PATIENT), list[int]()

    def work(used: int) -> None:
        with turns.turn(used) as has_turn:
            assert has_turn
            worked.append(used)

    with ThreadPoolExecutor(8) as pool:
        with turns.turn(0):
            asked = list[Future[None]]()
            for place, used in enumerate((700, 3, 900, 3, 1, 500), start=1):
                asked.append(pool.submit(work, used))
                wait_until(lambda n=place: turns.waiting() == n)  # type: ignore[misc]
            assert worked == []
        for each in asked:
            each.result(PATIENT)
    assert worked == [1, 3, 3, 500, 700, 900]


def test_as_many_as_are_allowed_work_side_by_side() -> None:
    turns, go = Turns(2, PATIENT), Event()
    inside = list[bool]()

    def work() -> None:
        with turns.turn(0) as has_turn:
            inside.append(has_turn)
            go.wait(PATIENT)

    with ThreadPoolExecutor(3) as pool:
        for _ in range(3):
            pool.submit(work)
        wait_until(lambda: len(inside) == 2 and turns.waiting() == 1)
        go.set()
    assert inside == [True, True, True]


def test_who_waits_too_long_gets_no_turn_and_keeps_none() -> None:
    turns = Turns(1, 0.01)
    with turns.turn(0) as first, turns.turn(0) as second, turns.turn(0) as third:
        assert (first, second, third) == (True, False, False)
    with turns.turn(0) as after, turns.turn(0) as beside:
        assert (after, beside) == (True, False)
    assert turns.waiting() == 0


@pytest.mark.attack
def test_those_who_gave_up__behind_one_who_waits__leave_the_queue() -> None:
    turns, worked = Turns(1, PATIENT), list[int]()

    def work() -> None:
        with turns.turn(1) as has_turn:
            worked.append(has_turn)

    with ThreadPoolExecutor(1) as pool, turns.turn(0):
        pool.submit(work)
        wait_until(lambda: turns.waiting() == 1)
        turns._patience = 0.001
        for used in range(2, 50):
            with turns.turn(used) as has_turn:
                assert not has_turn
        assert turns.waiting() == 1
    assert worked == [True]


def test_turn_is_given_back_by_work_that_fails() -> None:
    turns = Turns(1, 0.01)

    def fail() -> None:
        with turns.turn(0):
            raise KeyError

    for _ in range(3):
        with pytest.raises(KeyError):
            fail()
    with turns.turn(0) as has_turn:
        assert has_turn
