"""One stack for all drills of a run."""

from collections.abc import Iterator

import pytest

from tests.drills.scene import Scene, staged


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with staged(tmp_path_factory.mktemp("people")) as scene:
        yield scene
