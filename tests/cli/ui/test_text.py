"""Moments and amounts as people read them."""

import re

import pytest
from service_cli.ui.text import amount, clock_off, duration, moment

from tests.cli.ledger import Ledger
from tests.cli.terminal import Terminal


class Coin:
    symbol, decimals = "US\x1bDC", 6


def test_words__of_moments_and_amounts__are_exact() -> None:
    assert moment(100, 63) == "1970-01-01 00:01:40 UTC (in 37 s)"
    assert moment(100, 100) == "1970-01-01 00:01:40 UTC (now)"
    assert moment(2**63, 0) == f"{2**63} seconds after 1970"
    assert [duration(n) for n in (0, 60, 7_500, 90_061)] == ["0 s", "1 min", "2 h 5 min", "1 d 1 h"]
    assert amount(25_000_000, Coin()) == "25 USDC (25000000 base units)"
    assert amount(1, Coin()) == "0.000001 USDC (1 base units)"


def test_words__of_funding_and_claiming__are_in_moments_and_whole_tokens(ledger: Ledger, poster: Terminal) -> None:
    symbol = str(ledger.token.call("symbol"))
    words = poster.run("poster:publish-fund", "-", stdin=ledger.page()).words
    assert f"take 25 {symbol} (25000000 base units) until 2" in words
    assert re.search(r"UTC \(in (1 h|59 min \d+ s)\)", words)
    assert not re.search(r"\b1[5-9]\d{8}\b", words), "seconds since 1970"
    late = poster.run("poster:publish-fund", "--check", "-", stdin=ledger.page(seconds=-5), code=1)
    assert re.search(r"UTC \(\d+ s ago\)", late.words)
    dear = poster.run("poster:publish-fund", "-", stdin=ledger.page(escrow=10**30), code=1)
    assert f"the page asks for {10**24} {symbol} ({10**30} base units)" in dear.words


@pytest.mark.parametrize(
    ("there", "now", "named"),
    [
        (0, 600, None),
        (600, 0, None),
        (0, 601, "this machine's clock is 10 min 1 s ahead of the API"),
        (86_400, 0, "this machine's clock is 1 d behind the API"),
    ],
)
def test_clock_is_named_where_it_is_far_off(there: int, now: int, named: str | None) -> None:
    assert clock_off(there, now, "the API") == named
