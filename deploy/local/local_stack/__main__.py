"""``python -m local_stack up``: the whole service on this machine until it is interrupted.

Prints one JSON line on stdout when everything is ready, messages on stderr. SIGINT, SIGTERM and SIGHUP stop everything
at any moment, in order, and so does the end of the process that started this one: exit status 0 once it was ready, 130
before that; 1 when something failed, which is named.
"""

import argparse
import json
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from local_stack.interrupts import Interrupted, Interrupts

DEFAULT_ENV_FILE: Final = Path(".local/stack.env")
_POLL_SECONDS: Final = 0.1


def main() -> int:
    """Run the command line."""
    interrupts = Interrupts()
    parser = argparse.ArgumentParser(prog="python -m local_stack", description="The local stack.")
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="bring everything up and keep it until interrupted")
    up.add_argument("--env-file", type=Path, help=f"where to write the variables (default {DEFAULT_ENV_FILE})")
    up.add_argument("--outlive-parent", action="store_true", help="go on when the process that started this one ends")
    up.add_argument("--servers-only", action="store_true", help="servers and contracts, no process of the service")
    options = parser.parse_args()
    return _up(options, interrupts)


def _up(options: argparse.Namespace, interrupts: Interrupts) -> int:
    # Imported here: a signal during these slow imports is already remembered, and nothing runs yet.
    from local_stack.process import StackError, signal_when_parent_ends
    from local_stack.services import SERVICES
    from local_stack.stack import StackSettings, running_stack

    if not options.outlive_parent:
        signal_when_parent_ends(signal.SIGTERM)
    started, ready = time.monotonic(), False

    def say(text: str) -> None:
        _write(sys.stderr, f"stack: {text}\n")

    settings = StackSettings(
        env_file=options.env_file or DEFAULT_ENV_FILE,
        env_file_exactly=options.env_file is not None,
        services=() if options.servers_only else SERVICES,
    )
    try:
        with running_stack(settings, checkpoint=interrupts.checkpoint, say=say) as stack:
            ready = True
            if stack.pages_url is not None:
                say(f"look at the bounties at {stack.pages_url}/")
            say(f"ready after {time.monotonic() - started:.1f} s; variables in {stack.files and stack.files.path}")
            _write(sys.stdout, json.dumps(stack.ready_event()) + "\n")
            while True:
                interrupts.checkpoint()
                stack.check()
                time.sleep(_POLL_SECONDS)
    except Interrupted:
        say("stopped")
        return 0 if ready else 130
    except StackError as error:
        say(str(error))
        if ready:
            say("stopped because of that; fix the cause and start it again")
        return 1


def _write(stream: TextIO, text: str) -> None:
    """A terminal that has gone away must not keep the stack from stopping in order."""
    with suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()


if __name__ == "__main__":
    sys.exit(main())
