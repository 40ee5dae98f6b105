"""Storage locators and the arithmetic of rounds."""

import pytest
from bounty_protocol.crypto.beacon_info import QUICKNET
from bounty_protocol.domain.envelope.locator import StorageLocation, parse_locator, storage_locator
from bounty_protocol.domain.envelope.reveal import round_at, time_of_round
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.samples import BOUNTY_ID, CHAIN_ID, HUB, SOLVER, word

LOCATOR = storage_locator(CHAIN_ID, HUB, BOUNTY_ID, SOLVER, word("c"))


@pytest.mark.spec(58, 64)
def test_locator__written_and_read__the_same() -> None:
    assert f"submissions/31337/{HUB}/7/{SOLVER}/{word('c')[2:]}.age" == LOCATOR
    assert parse_locator(LOCATOR) == StorageLocation(CHAIN_ID, HUB, BOUNTY_ID, SOLVER, word("c"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        LOCATOR + "\n",
        "/" + LOCATOR,
        LOCATOR.replace(".age", ""),
        LOCATOR.replace("/7/", "/07/"),
        LOCATOR.replace("/7/", "/0/"),
        LOCATOR.replace("/7/", "/9999999999999999999/"),
        LOCATOR.replace("/7/", "/../"),
        LOCATOR.replace("submissions", "Submissions"),
        LOCATOR.replace(SOLVER, SOLVER.upper().replace("0X", "0x")),
        LOCATOR.replace(word("c")[2:], word("c")),
    ],
)
def test_locator__any_other_form__refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_locator(text)


@pytest.mark.parametrize(
    ("reveal_at", "expected"),
    [(0, 1), (999, 1), (1000, 1), (1001, 2), (1003, 2), (1004, 3), (1006, 3), (1007, 4)],
)
def test_round_is_the_first_after_each_boundary(reveal_at: int, expected: int) -> None:
    assert round_at(reveal_at, 1000, 3) == expected


def test_round__of_quicknet__published_genesis() -> None:
    assert QUICKNET.round_at(1692803367) == 1
    assert QUICKNET.time_of(123) == 1692803367 + 122 * 3


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(1, 3600))
def test_round_is_the_first_after_any_reveal_point(reveal: int, genesis: int, period: int) -> None:
    number = round_at(reveal, genesis, period)
    assert number >= 1
    assert time_of_round(number, genesis, period) >= min(reveal, max(reveal, genesis))
    assert number == 1 or time_of_round(number - 1, genesis, period) < reveal
