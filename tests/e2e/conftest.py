"""One local stack for all end-to-end tests, everything real and nothing shortened but the windows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from demo.bounty import Cast
from local_stack.services import SERVICES
from local_stack.stack import StackSettings, running_stack

from tests.campaign import FULL
from tests.pages.driver import Browser, browsing

collect_ignore = [] if FULL else ["test_chain_halts.py", "test_safe_guardian.py", "test_service_gone.py"]
"""Minutes of their own, for the night."""


@pytest.fixture(scope="package")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    """The stack, ended with these tests: its clock runs in this process, where later tests have time stand still."""
    folder: Path = tmp_path_factory.mktemp("people")
    # Without the settler: a test settles over a silent roster itself, as anyone may.
    services = tuple(service for service in SERVICES if service.name != "settler")
    with running_stack(StackSettings(services=services, solvers=3)) as stack:
        yield Cast(stack, folder)
        stack.check()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsing(tmp_path_factory.mktemp("browser")) as found:
        yield found
