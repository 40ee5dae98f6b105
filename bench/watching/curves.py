"""Curves over time from samples: rates of counters, quantiles of histograms, gauges, CPU and memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.watching.sampler import Sample, Series

SPAN: Final = 5
"""Samples that a rate or a quantile looks back: five seconds."""
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Watched:
    """Samples of a run, and the moment that its clock starts at."""

    samples: Sequence[Sample]
    began: float

    def labels(self, process: str, name: str, label: str) -> list[str]:
        """The values that a label of a metric takes, in order."""
        series = {each for sample in self.samples for each in sample.told[process] if each[0] == name}
        return sorted({dict(labels)[label] for _, labels in series})

    def rate(self, process: str, name: str, **wanted: str) -> list[Point]:
        """Rises of a counter in a second."""

        def value(now: Sample, then: Sample) -> float:
            rise = _total(now.told[process], name, wanted) - _total(then.told[process], name, wanted)
            return rise / (now.at - then.at)

        return self._back(value)

    def gauge(self, process: str, name: str, **wanted: str) -> list[Point]:
        """A gauge as it was."""
        return [(each.at - self.began, _total(each.told[process], name, wanted)) for each in self.samples]

    def quantile(self, part: float, process: str, name: str, **wanted: str) -> list[Point]:
        """A quantile of a histogram, in its unit, as PromQL's ``histogram_quantile`` has it."""

        def value(now: Sample, then: Sample) -> float | None:
            return _quantile(
                part, _buckets(now.told[process], name, wanted), _buckets(then.told[process], name, wanted)
            )

        return self._back(value)

    def cores(self, process: str) -> list[Point]:
        """How many cores a process keeps busy."""
        return self._back(lambda now, then: (now.taken[process].cpu - then.taken[process].cpu) / (now.at - then.at))

    def megabytes(self, process: str) -> list[Point]:
        """A process's memory."""
        return [(each.at - self.began, each.taken[process].resident / 2**20) for each in self.samples]

    def _back(self, value: Callable[[Sample, Sample], float | None]) -> list[Point]:
        pairs = zip(self.samples[SPAN:], self.samples, strict=False)
        found = ((now.at - self.began, value(now, then)) for now, then in pairs)
        return [(at, each) for at, each in found if each is not None]


def _total(values: dict[Series, float], name: str, wanted: dict[str, str]) -> float:
    return sum(
        value for (series, labels), value in values.items() if series == name and wanted.items() <= dict(labels).items()
    )


def _buckets(values: dict[Series, float], name: str, wanted: dict[str, str]) -> dict[float, float]:
    """Counts up to each bound."""
    found: dict[float, float] = {}
    for (series, labels), value in values.items():
        known = dict(labels)
        if series == f"{name}_bucket" and wanted.items() <= known.items():
            found[float(known["le"])] = found.get(float(known["le"]), 0.0) + value
    return found


def _quantile(part: float, now: dict[float, float], then: dict[float, float]) -> float | None:
    """None where nothing was observed."""
    rises = [(bound, now[bound] - then.get(bound, 0.0)) for bound in sorted(now)]
    if not rises or rises[-1][1] <= 0:
        return None
    rank, lower, below = part * rises[-1][1], 0.0, 0.0
    for bound, count in rises:
        if count >= rank:
            return lower if bound == float("inf") else lower + (bound - lower) * (rank - below) / (count - below)
        lower, below = bound, count
    return None
