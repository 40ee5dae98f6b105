"""The TypeScript client, installed and built once."""

from pathlib import Path

import pytest
from local_stack.toolbox import ensure_npm_package

from tests.clients.generated import PACKAGE, run_node


@pytest.fixture(scope="session")
def typescript_client() -> Path:
    """The package's folder; the compiler has accepted its sources and written ``dist``."""
    modules = ensure_npm_package(PACKAGE)
    run_node(modules / "typescript/bin/tsc", "--project", PACKAGE)
    return PACKAGE
