"""Tests run in another browser of the machine than the headless Chromium that they bring."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

NOT_RUN: Final = 77
"""Counts as not run, where the machine lacks the browser."""
_TOP: Final = Path(__file__).resolve().parent.parent


def run_tests(command: Sequence[str], variables: Mapping[str, str], version: Sequence[str]) -> int:
    """Run the tests, and say in which browser; the exit code is that of the tests."""
    code = subprocess.run(command, cwd=_TOP, env=os.environ | variables, check=False).returncode
    name = subprocess.run(version, capture_output=True, text=True, check=False).stdout.strip()
    print(f"{name}: {'passed' if code == 0 else 'failed'}")
    return code
