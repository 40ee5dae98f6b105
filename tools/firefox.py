"""A bounty with wallets alone, in Firefox instead of the headless Chromium of the tests: tests/e2e/test_wallets.py.

Firefox is the machine's own (Debian: ``firefox-esr``); without one it ends with 77, which counts as not run.
"""

import shutil
import sys

from tools.engines import NOT_RUN, run_tests


def main() -> int:
    """Run the tests in it, and say which it is."""
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    if firefox is None:
        print("not run: neither firefox-esr nor firefox is on the path")
        return NOT_RUN
    tests = [sys.executable, "-m", "pytest", "-q", "tests/e2e/test_wallets.py"]
    return run_tests(tests, {"SERVICE_FIREFOX": firefox}, [firefox, "--version"])


if __name__ == "__main__":
    sys.exit(main())
