"""Counters by kind.

Each series exists from the start, at zero: of a series that appears with its first event, Prometheus sees no increase.
"""

from collections.abc import Iterable

from prometheus_client import Counter


def counter_by(label: str, kinds: Iterable[str], name: str, words: str) -> Counter:
    """Return a counter with one label, which takes these values and no others."""
    counter = Counter(name, words, [label])
    for kind in kinds:
        counter.labels(kind)
    return counter
