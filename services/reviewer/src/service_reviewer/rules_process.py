"""The helper process of the rules: it has one thread and forks a child for each page, which judges it and ends.

Its service, which has many threads, starts it as a new program and sends it the socket of each page. A child that
inherits no lock of another thread cannot hang on one.
"""

import importlib
import json
import os
import resource
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Final

from bounty_protocol.domain.challenge.page import parse_challenge
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from bounty_protocol.types import UnixSeconds

BEGUN, JUDGED, OUR_FAULT, TOO_MUCH = b"b", b"j", b"f", b"m"
"""The first byte of what a child says: that it has begun, and its number; then how it ended."""
_FAULT_BYTES: Final = 4_096
_PAGE: Final = b"""---
version: 1
title: A title
summary: A summary.
escrow_amount: 1000000
submission_deadline: 2000000000
judging_window_seconds: 86400
acceptance_criteria:
  - "`make test` exits with 0."
deliverables:
  - A patch.
---

# Challenge

Fix it.
"""
SMALL: Final = Material(parse_challenge(_PAGE), _PAGE, UnixSeconds(1_900_000_000))
"""The page of the readiness check, and the first that the helper judges itself: what that loads, every child has."""


def main() -> None:
    """Fork a child for each socket that comes, until the service that sends them is gone."""
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a child that ended leaves nothing behind
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # at a terminal the service is told, too
    review(SMALL)
    while descriptors := socket.recv_fds(control, 1, 1)[1]:
        with socket.socket(fileno=descriptors[0]) as page, suppress(OSError):  # without a child it is closed unread
            if os.fork() == 0:
                control.close()
                _judge(page)


def _judge(page: socket.socket) -> None:
    """Read one page, say what the rules find, and end this process."""
    try:
        received = page.makefile("rb")
        job = json.loads(received.readline())
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(sum(os.times()[:2])) + job["cpu_seconds"], hard))
        page.sendall(BEGUN + b"%d\n" % os.getpid())  # from here on it ends by what the page does to it
        try:
            content = received.read(job["byte_length"])
            module, _, name = job["rules"].partition(":")
            rules = getattr(importlib.import_module(module), name)
            issues = rules(Material(parse_challenge(content), content, **job["material"]))
            said = JUDGED + json.dumps([[issue.path, issue.message] for issue in issues]).encode()
        except (MemoryError, RecursionError):
            said = TOO_MUCH
        except Exception as error:  # noqa: BLE001  # sent to the service, which raises it
            frames = traceback.extract_tb(error.__traceback__)
            places = (f"{each.filename}:{each.lineno} in {each.name}" for each in frames)
            said = OUR_FAULT + " > ".join([type(error).__name__, *places]).encode()[:_FAULT_BYTES]
        page.sendall(said)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main()
