"""What a job counts, brought to its worker.

Promises: a job counts with ordinary counters, as code does that answers requests; when it ends, what they rose by in
its forked child is told through a pipe and added to the worker's own, which its internal port tells. A job that is
killed takes along what it counted. Only the named counters are brought over.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from prometheus_client import Counter

_Series = tuple[str, tuple[tuple[str, str], ...]]
_MOST: Final = 65_536
"""What a pipe holds; a job changes a few series of a hundred bytes."""


class Tally:
    """The counters of one worker's jobs. Made before the worker forks; one job runs at a time."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters = {family.name: counter for counter in counters for family in counter.collect()}
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Around the job, in its own process: tell what it counted, however it ended."""
        before = self._figures()
        try:
            yield
        finally:
            rises = [(*series, now - before.get(series, 0.0)) for series, now in self._figures().items()]
            told = json.dumps([rise for rise in rises if rise[2]]).encode() + b"\n"
            os.write(self._writing, told[:_MOST])

    def take_in(self) -> None:
        """After the job, in the worker: add what it told."""
        try:
            told = os.read(self._reading, _MOST)
        except BlockingIOError:  # it was killed before it told anything
            return
        for line in told.splitlines(keepends=True):
            if line.endswith(b"\n"):  # else it was killed while it told
                for name, labels, rise in json.loads(line):
                    counter = self._counters[name]
                    (counter.labels(**dict(labels)) if labels else counter).inc(rise)

    def _figures(self) -> dict[_Series, float]:
        return {
            (family.name, tuple(sample.labels.items())): sample.value
            for counter in self._counters.values()
            for family in counter.collect()
            for sample in family.samples
            if sample.name.endswith("_total")
        }
