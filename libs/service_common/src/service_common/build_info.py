"""Which release a process is of, as ``service_build_info``: an upgrade shows in every graph."""

import os
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

REVISION = "SERVICE_REVISION"
"""The variable with the commit that an image was made of; the image itself sets it."""


class BuildInfo(Collector):
    """One constant metric with the labels program, version and revision."""

    def __init__(self) -> None:
        program = Path(sys.argv[0]).resolve().name  # service-api, also where an image calls it service
        try:
            release = version(program)
        except PackageNotFoundError:
            release = "unknown"
        revision = os.environ.get(REVISION, "unknown")
        self._values = (program, release, revision)

    def collect(self) -> Iterator[Metric]:
        """``service_build_info``, 1."""
        family = GaugeMetricFamily(
            "service_build_info", "1: the release that this process is of", labels=["program", "version", "revision"]
        )
        family.add_metric(self._values, 1)
        yield family
