"""One world for all plays of a process."""

from collections.abc import Iterator

import pytest

from tests.cli.plays.world import World, make_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with make_world(tmp_path_factory.mktemp("plays") / "world") as found:
        yield found


@pytest.fixture(autouse=True)
def impatient() -> None:
    """Commands wait as long as for people: their clock is another one."""
