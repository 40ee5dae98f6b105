"""One local stack for all end-to-end tests, everything real and nothing shortened but the windows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from demo.bounty import Cast
from local_stack.services import SERVICES
from local_stack.stack import StackSettings, running_stack


@pytest.fixture(scope="session")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    folder: Path = tmp_path_factory.mktemp("people")
    # Without the settler: a test settles over a silent roster itself, as anyone may.
    services = tuple(service for service in SERVICES if service.name != "settler")
    with running_stack(StackSettings(services=services)) as stack:
        yield Cast(stack, folder)
        stack.check()
