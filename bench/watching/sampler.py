"""Scrapes every process once a second, as Prometheus would, and notes what each takes: one JSON line a sample.

A process of its own, so that reading never delays the client that makes the load: ``python -m bench.watching.sampler
PLAN OUTPUT``, until it is terminated.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import urllib3
from local_stack.ports import HOST
from prometheus_client.parser import text_string_to_metric_families

from bench.watching.processes import Taken, taken

Series = tuple[str, tuple[tuple[str, str], ...]]
"""A series: its name, and its labels in order."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment, on the clock of ``time.time``."""

    at: float
    taken: dict[str, Taken]
    told: dict[str, dict[Series, float]]


@contextmanager
def sampling(folder: Path, ports: dict[str, int], pids: dict[str, int]) -> Iterator[Path]:
    """Sample until the block ends; where the samples are."""
    plan, output = folder / "plan.json", folder / "samples.jsonl"
    plan.write_text(json.dumps({"ports": ports, "pids": pids}))
    process = subprocess.Popen([sys.executable, "-m", "bench.watching.sampler", str(plan), str(output)])
    try:
        yield output
    finally:
        process.terminate()
        process.wait(10)


def read_samples(output: Path) -> list[Sample]:
    """Every sample, its metrics read."""
    samples = []
    for line in output.read_text().splitlines():
        raw = json.loads(line)
        processes = {name: Taken(*each) for name, each in raw["taken"].items()}
        samples.append(Sample(raw["at"], processes, {name: _read(text) for name, text in raw["told"].items()}))
    return samples


def _read(text: str) -> dict[Series, float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def main() -> None:
    """Sample once a second until SIGTERM."""
    stopped = Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    plan = json.loads(Path(sys.argv[1]).read_text())
    http = urllib3.PoolManager(maxsize=1, num_pools=32, retries=False, timeout=5)
    began = time.monotonic()
    with Path(sys.argv[2]).open("w") as output:
        count = 0
        while not stopped.wait(max(0.0, began + count - time.monotonic())):
            count += 1
            scraped = {name: _scrape(http, port) for name, port in plan["ports"].items()}
            used = {name: (each.cpu, each.resident) for name, each in taken(plan["pids"]).items()}
            output.write(json.dumps({"at": time.time(), "taken": used, "told": scraped}) + "\n")
            output.flush()


def _scrape(http: urllib3.PoolManager, port: int) -> str:
    """The service's own series; reading them is for later."""
    text = http.request("GET", f"http://{HOST}:{port}/metrics").data.decode()
    return "\n".join(line for line in text.splitlines() if line.startswith(("service_", "# TYPE service_"))) + "\n"


if __name__ == "__main__":
    main()
