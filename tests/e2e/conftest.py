"""One local stack for all end-to-end tests, everything real and nothing shortened but the windows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from demo.bounty import Cast
from local_stack.stack import running_stack


@pytest.fixture(scope="session")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    folder: Path = tmp_path_factory.mktemp("people")
    with running_stack() as stack:
        yield Cast(stack, folder)
        stack.check()
