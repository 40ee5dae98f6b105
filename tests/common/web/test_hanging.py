"""Workers that hang end their process, and nothing else does."""

from collections.abc import Iterator

import pytest
from service_common.web.server import HUNG_AFTER_LOOKS, end_once_hung

HANGS = [False] * HUNG_AFTER_LOOKS


def looked(answers: Iterator[bool]) -> int:
    """How many looks a process lasts whose app answers these."""
    looks, ended = 0, list[bool]()

    def check() -> None:
        nonlocal looks
        looks += 1
        if not next(answers):
            raise TimeoutError

    end_once_hung(check, lambda: ended.append(True), 0.0)
    assert ended == [True]
    return looks


@pytest.mark.parametrize(
    ("answers", "looks"),
    [
        ([True, *HANGS], 1 + len(HANGS)),
        ([True, *HANGS[1:], True, *HANGS], 1 + 2 * len(HANGS)),
        (HANGS, len(HANGS)),
        ([*HANGS[1:], True, *HANGS], 2 * len(HANGS)),
    ],
    ids=["hangs", "comes back first", "never serves", "takes long to load"],
)
def test_process__whose_workers_hang_for_minutes__ends(answers: list[bool], looks: int) -> None:
    assert looked(iter(answers)) == looks
