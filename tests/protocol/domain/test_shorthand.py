"""Values as people write them: what is understood, and what is refused because it could mean two things."""

from collections.abc import Callable

import pytest
from bounty_protocol.domain.money.amounts import whole_tokens
from bounty_protocol.domain.money.shorthand import read_amount, read_moment, read_span
from hypothesis import given
from hypothesis import strategies as st

NOW = 1_800_000_000


@pytest.mark.parametrize(
    ("text", "value"),
    [("25 USDC", 25_000_000), ("25USDC", 25_000_000), ("25 tUSDC", 25_000_000), ("25.00", 25_000_000),
     ("0.000001", 1), ("25.50 usdc", 25_500_000), (" 400 USDC ", 400_000_000), ("1.1000000", 1_100_000)],
)  # fmt: skip
def test_amount__in_whole_tokens__is_in_smallest_units(text: str, value: int) -> None:
    assert read_amount(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "25",
        "25000000",
        "",
        "USDC",
        "25 ETH",
        "1.0000001",
        "-1.0",
        "1e3",
        "1,000.00",
        "0.0",
        "0 USDC",
        "٢٥.٠٠",
        "9" * 61,
    ],
)
def test_ambiguous_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_amount(text)


@given(st.integers(1, 10**30))
def test_amount__as_it_is_shown__is_read_as_the_same(value: int) -> None:
    assert read_amount(f"{whole_tokens(value, 6)} USDC") == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("3 days", 259_200), ("1 day", 86_400), ("72 h", 259_200), ("90 min", 5_400), ("90 minutes", 5_400),
     ("2 weeks", 1_209_600), ("45s", 45), ("259200", 259_200), ("3D", 259_200)],
)  # fmt: skip
def test_span__in_any_unit__is_in_seconds(text: str, value: int) -> None:
    assert read_span(text) == value


@pytest.mark.parametrize(
    "text", ["", "days", "3 months", "0 days", "-3 days", "1.5 days", "3 days 2 h", "9" * 19, "9" * 20, "03x"]
)
def test_span__that_is_none__is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_span(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("2027-01-31", 1_801_439_999), ("2027-01-31T18:00Z", 1_801_418_400), ("2027-01-31 18:00 UTC", 1_801_418_400),
     ("2027-01-31T18:00:30+02:00", 1_801_411_230), ("1801418400", 1_801_418_400), ("3 days", NOW + 259_200)],
)  # fmt: skip
def test_moment__in_any_form__is_in_seconds_since_1970(text: str, value: int) -> None:
    assert read_moment(text, NOW) == value


@pytest.mark.parametrize(
    "text",
    ["", "tomorrow", "2027-02-30", "31.01.2027", "01/31/2027", "2027-01-31T18:00", "2027-01-31T25:00Z", "0000-01-01"],
)
def test_moment_without_a_zone_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_moment(text, NOW)


@pytest.mark.parametrize("read", [read_span, lambda text: read_moment(text, NOW)], ids=["span", "moment"])
def test_time__in_m__is_refused_with_what_it_may_mean(read: Callable[[str], int]) -> None:
    with pytest.raises(ValueError, match="m could be minutes or months: write 5 minutes"):
        read("5m")
    with pytest.raises(ValueError, match=r"90 minutes$"):
        read("5x")


def test_relative_moment_needs_a_now() -> None:
    with pytest.raises(ValueError):
        read_moment("3 days")
