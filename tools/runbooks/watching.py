"""Prometheus on a local stack: Debian's program, which scrapes every process and answers the alerts' expressions."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
import yaml
from local_stack.ports import HOST
from local_stack.process import minimal_environment
from local_stack.stack import Stack

NAMESPACE: Final = "one"


class Watching:
    """A running Prometheus."""

    def __init__(self, port: int) -> None:
        self._url = f"http://{HOST}:{port}"

    def ready(self) -> bool:
        """Whether it answers."""
        try:
            return urllib3.request("GET", f"{self._url}/-/ready", retries=False, timeout=2).status == 200
        except urllib3.exceptions.HTTPError:
            return False

    def holds(self, expression: str, ahead: float = 0.0) -> bool:
        """Whether an expression has any result now, or has one so many seconds later if nothing more is scraped."""
        query = urlencode({"query": expression} | ({"time": time.time() + ahead} if ahead else {}))
        answer = urllib3.request("GET", f"{self._url}/api/v1/query?{query}", retries=False, timeout=10)
        found: dict[str, Any] = answer.json()
        if found["status"] != "success":
            raise ValueError(f"{expression}: {found}")
        return bool(found["data"]["result"])

    def wait(self, expression: str, seconds: float, ahead: float = 0.0, gone: str = "") -> float | None:
        """Seconds until an expression has a result; None where it has none in time.

        With ``ahead`` it is the result of so much later, and ``gone`` has to hold now: that nothing more comes of what
        the expression looks at.
        """
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            if (not gone or self.holds(gone)) and self.holds(expression, ahead):
                return time.monotonic() - began
            time.sleep(0.5)
        return None

    def wait_until_over(self, expression: str, seconds: float) -> bool:
        """Whether an expression has no result any more, now or within so many seconds."""
        ends = time.monotonic() + seconds
        while is_held := self.holds(expression):
            if time.monotonic() >= ends:
                break
            time.sleep(0.5)
        return not is_held


@contextmanager
def watched(stack: Stack, program: Path, folder: Path, watchtower: int) -> Iterator[Watching]:
    """Scrape the stack every two seconds, as the component's PodMonitor does it every half a minute; and the watchtower
    at its port, as docs/checker.md has it. Each was scraped once when this yields: a counter grows only from a value
    that was seen."""
    targets: list[dict[str, object]] = [
        {
            "targets": [f"{HOST}:{service.internal_port}"],
            "labels": {"namespace": NAMESPACE, "container": name, "pod": f"{name}-1"},
        }
        for name, service in stack.services.items()
    ]
    targets.append({"targets": [f"{HOST}:{watchtower}"], "labels": {"namespace": NAMESPACE}})
    config = folder / "prometheus.yml"
    scraping = {"job_name": "stack", "honor_labels": True, "static_configs": targets}
    config.write_text(
        yaml.safe_dump({"global": {"scrape_interval": "2s", "scrape_timeout": "2s"}, "scrape_configs": [scraping]})
    )
    port, family = stack.runtime.port(), stack.runtime.family
    command: list[str | Path] = [
        program, f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address={HOST}:{port}", "--log.level=error",
    ]  # fmt: skip
    child = family.spawn("prometheus", command, environment=minimal_environment(folder), cwd=folder)
    watching = Watching(port)
    try:
        family.wait(child, lambda: watching.ready() and watching.holds(f"count(up) == {len(targets)}"), 60.0)
        yield watching
    finally:
        family.end([child])
