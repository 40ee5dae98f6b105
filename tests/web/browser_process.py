"""How a headless browser from npm is started by the tests that need one."""

import os
from pathlib import Path
from typing import Final

BROWSER: Final = Path(__file__).parent / "browser"
"""The folder of its npm package."""
NO_BROWSER: Final = 3
"""Exit code of a script that could start none."""
_LIBRARY: Final = Path("/usr/lib/x86_64-linux-gnu/libnss3.so")


def browser_variables(folder: Path) -> dict[str, str]:
    """Its environment beside PATH; what it writes goes into ``folder``. ``SERVICE_FIREFOX`` is one to start instead."""
    variables = {"HOME": str(folder), "TMPDIR": str(folder)}
    if not _LIBRARY.exists():
        variables["AWS_EXECUTION_ENV"] = "AWS_Lambda_nodejs22.x"  # it then brings the libraries that it needs
    if firefox := os.environ.get("SERVICE_FIREFOX"):
        variables["FIREFOX"] = firefox
    return variables
