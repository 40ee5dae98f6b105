"""A bounty with wallets alone, and every page, in WebKitGTK: the engine nearest to Safari's.

The browser is the machine's own (Debian: ``webkit2gtk-driver`` and ``xvfb``); without them it ends with 77, which
counts as not run. A wallet announces itself there after the page has loaded. Left out are the tests that need what this
driver has not: pages without scripts, and requests that are answered by somebody else.
"""

import shutil
import sys
from pathlib import Path

from tools.engines import NOT_RUN, run_tests

BROWSERS = ("/usr/lib/*/webkit2gtk-4.1/MiniBrowser", "/usr/lib/*/webkitgtk-6.0/MiniBrowser")
TESTS = ("tests/pages/test_engines.py", "tests/e2e/test_wallets.py")
NEED_ANOTHER_DRIVER = ("without_scripts", "states_something_else", "never_answers", "earlier_page")


def main() -> int:
    """Run the tests in it, and say which it is."""
    found = [str(path) for pattern in BROWSERS for path in Path("/").glob(pattern[1:])]
    missing = [name for name in ("WebKitWebDriver", "xvfb-run") if shutil.which(name) is None]
    if not found or missing:
        print(f"not run: this machine has no {', '.join(missing) or 'MiniBrowser'}")
        return NOT_RUN
    chosen = " and ".join(f"not {name}" for name in NEED_ANOTHER_DRIVER)
    tests = [sys.executable, "-m", "pytest", "-q", *TESTS, "-k", chosen]
    command = ["xvfb-run", "--auto-servernum", "--server-args=-screen 0 1400x1200x24", *tests]
    return run_tests(command, {"SERVICE_WEBKIT": found[0]}, ["xvfb-run", "--auto-servernum", found[0], "--version"])


if __name__ == "__main__":
    sys.exit(main())
