"""Asking a client for every malformed answer, many at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.hostile.answers import ALL, EITHER, REFUSED, TAKEN, hostile_server
from tests.hostile.memory import MIB, growth

SECONDS: Final = 0.3
PATIENT: Final = 60.0
"""For answers that have to be taken."""
AT_A_TIME: Final = 16
TOOK: Final = "taken"
Ask = Callable[[str], str]
"""Asks for the answer at an address; ``TOOK``, or the code of the client's error."""


def ask_all(client: Callable[[float], Ask], good: bytes, most: int) -> dict[str, str]:
    """What came of each answer, for a client that waits for so many seconds; in at most so many bytes of memory."""
    codes = dict[str, str]()
    with hostile_server(good) as url, growth() as grown:
        for seconds, names in ((SECONDS, REFUSED.keys() | EITHER.keys()), (PATIENT, TAKEN.keys())):
            ask = client(seconds)
            with ThreadPoolExecutor(AT_A_TIME) as pool:
                codes |= zip(names, pool.map(ask, [f"{url}/{name}" for name in names]), strict=True)
    assert grown.bytes < most, f"{grown.bytes / MIB:.0f} MiB"
    assert len(codes) == len(ALL) >= 50
    return codes


def check(codes: dict[str, str], *, errors: set[str]) -> None:
    """Everything refused has one of these codes, and what has to be taken was."""
    assert {name for name in TAKEN if codes[name] != TOOK} == set()
    assert {name for name in REFUSED if codes[name] == TOOK} == set()
    assert {code for code in codes.values() if code != TOOK} <= errors
