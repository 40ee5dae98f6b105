"""The scripts of the pages, built from ``clients/typescript/actions`` into the package of the pages.

``python -m tests.clients.actions`` writes them again, with the PYTHONPATH of CONTRIBUTING.md; a test compares. They are
committed, since the pages are installed, demonstrated and packed on machines that have Python alone.
"""

import sys
from pathlib import Path
from typing import Final

from local_stack.toolbox import ensure_npm_package

from tests.clients.package import PACKAGE, TOP, run_node

FOLDER: Final = TOP / "services/web/src/service_web/static/actions"


def build(folder: Path) -> None:
    """Write the scripts into an empty folder."""
    ensure_npm_package(PACKAGE)
    run_node(PACKAGE / "actions/build.mjs", folder)


def check_types() -> None:
    """Raise ``AssertionError`` with what the compiler finds."""
    run_node(ensure_npm_package(PACKAGE) / "typescript/bin/tsc", "--project", PACKAGE / "actions")


def main() -> int:
    """Put the committed scripts in place anew."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        path.unlink()
    build(FOLDER)
    print("".join(f"{path.stat().st_size:>8} {path.name}\n" for path in sorted(FOLDER.iterdir())), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
