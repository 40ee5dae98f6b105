"""A collector of spans, of its own for each test."""

from collections.abc import Iterator

import pytest

from tests.fakes.collector import Collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()
