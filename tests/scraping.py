"""What a running process tells a scraper: the figures of its ``/metrics``."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import urllib3
from local_stack.ports import HOST
from local_stack.process import Child, minimal_environment
from local_stack.runtime import Runtime
from prometheus_client import generate_latest
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
    return _figures(answer.data.decode())


def _figures(text: str) -> Figures:
    families = text_string_to_metric_families(text)
    return Figures({(s.name, frozenset(s.labels.items())): s.value for each in families for s in each.samples})


def counted_here() -> Figures:
    """What this very process would tell."""
    return _figures(generate_latest().decode())


def rises_of(scraped: Callable[[], Figures], name: str, label: str) -> Callable[[], dict[str, float]]:
    """What each kind of a counter rose by since this call, those that did not left out."""
    earlier = scraped()

    def rises() -> dict[str, float]:
        now = scraped()
        kinds = {dict(labels)[label] for series, labels in now.values if series == name}
        found = {kind: now.rise(earlier, name, **{label: kind}) for kind in kinds}
        return {kind: rise for kind, rise in found.items() if rise}

    return rises


@dataclass(frozen=True, slots=True)
class Started:
    """A process that can be scraped."""

    child: Child
    port: int

    def metrics(self) -> Figures:
        return scrape(self.port)


def start(runtime: Runtime, name: str, variables: Mapping[str, str], *command: str) -> Started:
    """Start a service's process through its entry point and wait until it can be scraped."""
    port = runtime.port()
    environment = minimal_environment(runtime.logs) | dict(variables) | {"SERVICE_INTERNAL_PORT": str(port)}
    program = Path(sys.executable).parent / command[0]
    child = runtime.family.spawn(name, [program, *command[1:]], environment=environment, cwd=runtime.logs)
    runtime.family.wait(child, lambda: _answers(port), 60.0)
    return Started(child, port)


def _answers(port: int) -> bool:
    try:
        return urllib3.request("GET", f"http://{HOST}:{port}/healthz", retries=False, timeout=2).status == 200
    except urllib3.exceptions.HTTPError:
        return False
