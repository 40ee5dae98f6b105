"""What a running process tells a scraper: the figures of its ``/metrics``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import urllib3
from local_stack.ports import HOST
from prometheus_client.parser import text_string_to_metric_families

Series = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Figures:
    """One scrape."""

    values: Mapping[Series, float]

    def value(self, name: str, **labels: str) -> float | None:
        """One series; None where it is not told."""
        return self.values.get((name, frozenset(labels.items())))

    def rise(self, earlier: "Figures", name: str, **labels: str) -> float:
        """What a series rose by; both scrapes have to tell it."""
        before, after = earlier.value(name, **labels), self.value(name, **labels)
        assert before is not None, f"{name} is not told before its first event"
        assert after is not None
        return after - before


def scrape(port: int) -> Figures:
    """Scrape the process with this internal port."""
    answer = urllib3.request("GET", f"http://{HOST}:{port}/metrics", retries=False, timeout=10)
    assert answer.status == 200
    families = text_string_to_metric_families(answer.data.decode())
    return Figures({(s.name, frozenset(s.labels.items())): s.value for each in families for s in each.samples})


def rises_of(scraped: Callable[[], Figures], name: str, label: str) -> Callable[[], dict[str, float]]:
    """What each kind of a counter rose by since this call, those that did not left out."""
    earlier = scraped()

    def rises() -> dict[str, float]:
        now = scraped()
        kinds = {dict(labels)[label] for series, labels in now.values if series == name}
        found = {kind: now.rise(earlier, name, **{label: kind}) for kind in kinds}
        return {kind: rise for kind, rise in found.items() if rise}

    return rises
