"""From when an authorization's hour counts, and whether a moment has passed: of several words the safe one."""

import time
from dataclasses import dataclass
from typing import cast

import pytest
from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from bounty_protocol.types import UnixSeconds
from service_cli.chain import times
from service_cli.chain.session import ChainClient
from service_cli.errors import CommandRefused

NOW, HOUR = 1_800_000_000, 3_600


@dataclass
class Chain:
    """Endpoints whose newest and finalized blocks have these times, seen from ``NOW``."""

    newest: tuple[int, ...]
    is_local: bool = False
    has_moved: bool = False
    named: str = "the RPC endpoint"

    @property
    def settings(self) -> "Chain":
        return self

    def has_moved_time(self) -> bool:
        return self.has_moved

    @property
    def everywhere(self) -> "list[Chain]":
        return [Chain((each,), self.is_local, self.has_moved) for each in self.newest]

    @property
    def time(self) -> int:
        return self.newest[0]

    def latest(self) -> "Chain":
        return self

    finalized = latest


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: float(NOW))


@pytest.mark.parametrize(
    ("chain", "counted"),
    [
        (Chain((NOW - 5,)), NOW - 5),
        (Chain((NOW + 5,)), NOW),
        (Chain((NOW - 5, NOW - 20)), NOW - 20),
        (Chain((NOW - HOUR,)), None),
        (Chain((NOW + HOUR,)), None),
        (Chain((NOW - 5, NOW + HOUR)), None),
        (Chain((NOW - HOUR,), is_local=True), NOW - HOUR),
        (Chain((NOW + HOUR,), is_local=True), None),
        (Chain((NOW + HOUR,), is_local=True, has_moved=True), NOW + HOUR),
    ],
)
def test_hour_counts_from_the_earlier_time(chain: Chain, counted: int | None) -> None:
    if counted is not None:
        assert times.signing_time(cast("ChainClient", chain)) == counted
        return
    with pytest.raises(CommandRefused) as refused:
        times.signing_time(cast("ChainClient", chain))
    assert refused.value.code == "time_disagrees"


@pytest.mark.parametrize(
    ("finalized", "passed"), [((NOW - 1,), True), ((NOW - 2,), False), ((NOW - 1, NOW - 2), False), ((NOW,), True)]
)
def test_moment_has_passed_everywhere_or_not(finalized: tuple[int, ...], passed: bool) -> None:
    assert times.has_passed(cast("ChainClient", Chain(finalized)), UnixSeconds(NOW - 1)) is passed
    assert times.has_passed(cast("ChainClient", Chain((NOW + HOUR,))), UnixSeconds(NOW))
    assert not times.has_passed(cast("ChainClient", Chain((NOW + HOUR,))), UnixSeconds(NOW + 1))
    assert times.has_passed(cast("ChainClient", Chain((NOW + HOUR,), has_moved=True)), UnixSeconds(NOW + 1))


@pytest.mark.parametrize(
    ("chain", "latest"),
    [
        (Chain((NOW - 5,)), NOW),
        (Chain((NOW - 5, NOW + 5)), NOW + 5),
        (Chain((NOW - 9, NOW - 5), has_moved=True), NOW - 5),
    ],
)
def test_latest_moment_is_of_clock_and_endpoints(chain: Chain, latest: int) -> None:
    assert times.latest_moment(cast("ChainClient", chain)) == latest


@pytest.mark.parametrize(
    ("chain", "is_late"),
    [
        (Chain((NOW - STANDS_STILL_SECONDS,)), False),
        (Chain((NOW - STANDS_STILL_SECONDS - 1,)), True),
        (Chain((NOW - HOUR, NOW - STANDS_STILL_SECONDS)), False),
        (Chain((NOW - HOUR, NOW - STANDS_STILL_SECONDS - 1)), True),
        (Chain((NOW - HOUR,), is_local=True), False),
        (Chain((NOW + HOUR,)), False),
    ],
)
def test_late_chain_is_told(chain: Chain, is_late: bool, capsys: pytest.CaptureFixture[str]) -> None:
    times.warn_of_late_chain(cast("ChainClient", chain), UnixSeconds(NOW + HOUR), "This Submission")
    assert ("This Submission counts only in a block before" in capsys.readouterr().err) is is_late
