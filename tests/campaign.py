"""How long the randomized tests run: a small part by default, everything in a campaign.

The one place that reads it: ``SERVICE_CAMPAIGN=full`` for the whole size, ``SERVICE_CAMPAIGN_SEED`` for another walk
(default 1), so that a campaign of several runs covers new ground and a failure can be repeated. ``tests/conftest.py``
gives Hypothesis the same seed.
"""

import os
import random
from collections.abc import Sequence
from typing import Final, TypeVar

T = TypeVar("T")
FULL: Final = os.environ.get("SERVICE_CAMPAIGN") == "full"
SEED: Final = int(os.environ.get("SERVICE_CAMPAIGN_SEED", "1"))


def size(default: int, full: int) -> int:
    """How many cases to run now."""
    return full if FULL else default


def source(label: str) -> random.Random:
    """Random choices of one test: the same for the same seed."""
    return random.Random(f"{label}/{SEED}")


def some(label: str, cases: Sequence[T], default: int) -> list[T]:
    """So many of these cases, drawn by the seed; all of them in a campaign."""
    return list(cases) if FULL else source(label).sample(list(cases), default)
