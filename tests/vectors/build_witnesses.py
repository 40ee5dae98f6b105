"""Vectors of what witnesses decide about times."""

from typing import Final

from bounty_protocol.chain.deployment import NETWORKS, deployment_of
from bounty_protocol.types import UnixSeconds
from service_cli.chain.times import is_over
from service_cli.queries.state import wrong_reveal_point
from service_cli.ui.text import CLOCK_SECONDS, clock_off

_ABOUT: Final = (
    "hours: from when an authorization's hour is counted, by the newest block's time and this machine's clock; null "
    "where they are too far apart. over: whether a moment is past, by the finalized block and the clock; a clock of "
    "null says nothing. reveal_points: whether work may be sealed until then, by the Hub's delay and the latest moment "
    "that a witness says it is, at which the deadline is to come. reveal_delays: whether a chain's record has it; true "
    "where there is no record. docs/witnesses.md."
)
_NOW: Final = 1_900_000_000
_DELAY: Final = 300
_OFF: Final = (0, 1, -1, CLOCK_SECONDS, -CLOCK_SECONDS, CLOCK_SECONDS + 1, -CLOCK_SECONDS - 1, 7_200, 10**9, -(10**9))
_PLACES: Final = (-7_200, -1, 0, 1, 7_200)


def _witnesses() -> dict[str, object]:
    hours = [
        {
            "newest": (newest := _NOW + off),
            "clock": _NOW,
            "begins": None if clock_off(newest, _NOW, "") else min(newest, _NOW),
        }
        for off in _OFF
    ]
    clocks = [None, *(_NOW + place for place in _PLACES)]
    over = [
        {
            "moment": _NOW,
            "finalized": (finalized := _NOW + place),
            "clock": clock,
            "over": is_over(UnixSeconds(_NOW), UnixSeconds(finalized), None if clock is None else UnixSeconds(clock)),
        }
        for place in _PLACES
        for clock in clocks
    ]
    reveal_points = [
        {
            "submission_deadline": (deadline := reveal_at - _DELAY + off),
            "reveal_at": reveal_at,
            "delay": _DELAY,
            "now": _NOW,
            "accepted": wrong_reveal_point(UnixSeconds(deadline), UnixSeconds(reveal_at), _DELAY, UnixSeconds(_NOW))
            is None,
        }
        for reveal_at in (_NOW, _NOW + 60, _NOW + _DELAY - 1, _NOW + _DELAY, _NOW + _DELAY + 1, _NOW + _DELAY + 60)
        for off in (-1, 0, 1)
    ]
    records = {chain_id: deployment_of(chain_id) for chain_id in NETWORKS.values()}
    recorded = {chain_id: record and record.reveal_delay_seconds for chain_id, record in records.items()}
    reveal_delays = [
        {"chain_id": chain_id, "delay": (delay := (known or _DELAY) + off), "recorded": known in {None, delay}}
        for chain_id, known in recorded.items()
        for off in (-1, 0, 1)
    ]
    return {
        "about": _ABOUT,
        "hours": hours,
        "over": over,
        "reveal_points": reveal_points,
        "reveal_delays": reveal_delays,
    }


FILES: Final = {"witnesses.json": _witnesses}
"""File name -> builder."""
