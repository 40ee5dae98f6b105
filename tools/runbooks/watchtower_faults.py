"""Faults that the watchtower alone sees, and its own."""

import time
from typing import Final

from tools.runbooks.scene import ExpectedAlert, Fault, FaultScene, nothing

_SCRAPED_SECONDS: Final = 5.0
"""Until Prometheus has read what is there."""
_HOUR: Final = 3_600.0


def _keep_answers(place: FaultScene) -> None:
    """A cache before the api that heeds no ``Cache-Control``."""
    place.watchtower.start()
    time.sleep(_SCRAPED_SECONDS)
    place.front.keeps = True


def _stop_it(place: FaultScene) -> None:
    """After a check that found everything right."""
    place.watchtower.start()
    time.sleep(_SCRAPED_SECONDS)
    place.watchtower.stop()


def _leave_it(place: FaultScene) -> None:
    place.watchtower.stop()


WATCHTOWER_FAULTS: Final[tuple[Fault, ...]] = (
    Fault(
        "the watchtower was stopped",
        _stop_it,
        nothing,
        (
            ExpectedAlert(
                "WatchtowerSilent",
                r"Active: inactive",
                "time() - max(checker_ended_timestamp_seconds) < 60",
                ahead=_HOUR,
                gone="absent(checker_ended_timestamp_seconds)",
            ),
        ),
        after=_leave_it,
    ),
    Fault(
        "a cache before the api keeps every answer",
        _keep_answers,
        lambda place: place.front.keep_nothing(),
        (
            ExpectedAlert(
                "WatchtowerFindsDifference",
                r"(?ms)^liveness\.index .*^[Aa]ge: [1-9]",
                "max(checker_differences) == 0",
                within=1_200.0,
            ),
        ),
        after=_leave_it,
    ),
)
"""Each is over before the next one begins. The chain has seen nothing yet that the watchtower reports for ever."""
