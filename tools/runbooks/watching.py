"""Prometheus on a local stack: Debian's program, which scrapes every process and answers the alerts' expressions."""

import time
from collections.abc import Callable, Iterator
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

    def holds(self, expression: str) -> bool:
        """Whether an expression has any result now."""
        query = urlencode({"query": expression})
        answer = urllib3.request("GET", f"{self._url}/api/v1/query?{query}", retries=False, timeout=10)
        found: dict[str, Any] = answer.json()
        if found["status"] != "success":
            raise ValueError(f"{expression}: {found}")
        return bool(found["data"]["result"])

    def wait(self, expression: str, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> float | None:
        """Seconds until an expression has a result; None where it has none in time."""
        began = time.monotonic()
        while time.monotonic() < began + seconds:
            if self.holds(expression):
                return time.monotonic() - began
            meanwhile()
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
def watched(stack: Stack, program: Path, folder: Path) -> Iterator[Watching]:
    """Scrape the stack every two seconds, as the component's PodMonitor does it every half a minute."""
    targets = [
        {
            "targets": [f"{HOST}:{service.internal_port}"],
            "labels": {"namespace": NAMESPACE, "container": name, "pod": f"{name}-1"},
        }
        for name, service in stack.services.items()
    ]
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
        family.wait(child, watching.ready, 60.0)
        yield watching
    finally:
        family.end([child])
