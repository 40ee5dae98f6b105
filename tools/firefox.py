"""A bounty with wallets alone, in Firefox instead of the headless Chromium of the tests: tests/e2e/test_wallets.py.

Firefox is the machine's own (Debian: ``firefox-esr``); without one it ends with 77, which counts as not run.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
NOT_RUN = 77


def main() -> int:
    """Run the tests in it, and say which it is."""
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    if firefox is None:
        print("not run: neither firefox-esr nor firefox is on the path")
        return NOT_RUN
    command = [sys.executable, "-m", "pytest", "-q", "tests/e2e/test_wallets.py"]
    code = subprocess.run(command, cwd=TOP, env=os.environ | {"SERVICE_FIREFOX": firefox}, check=False).returncode
    version = subprocess.run([firefox, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    print(f"{version}: {'passed' if code == 0 else 'failed'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
