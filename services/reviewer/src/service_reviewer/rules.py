"""The rules of ``bounty_protocol.readiness``, run in a process of their own for each page, which ends.

It ends within ``CPU_SECONDS`` of processor time and ``SECONDS`` in all, for every page. A page that takes more
processor time, takes more memory than there is, or kills the process is parked: it gets a judgement as any other page,
not ready, so that it is charged and never judged again. A mistake of the rules themselves, and a machine that gave them
too little of its time, are raised here as ``RulesFailed``: a fault of the service, no judgement, and not charged.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from service_common.log import get_logger

from service_reviewer import rules_process
from service_reviewer.rules_process import BEGUN, JUDGED, OUR_FAULT

CPU_SECONDS: Final = 15
"""Several times what the worst page of the largest size takes."""
SECONDS: Final = 30.0
"""With the bound on a model's answers, below the time that a review's job has."""
RULES: Final = "bounty_protocol.readiness.review:review"
_PARKED: Final = Issue(
    "body",
    "Takes longer to read than a review may last. Make the page shorter, or simpler in form: fewer links, tables and "
    "nested lists.",
)

log = get_logger(__name__)


class RulesFailed(Exception):
    """A fault of ours: of which kind and where, or that the rules got too little time. The mistake's own message, which
    may quote the page, is not in it: this goes to the log, and with a failed job to Redis."""


@dataclass
class _Helper:
    """The helper process, started when it is first needed, and again if it is gone. Thread-safe."""

    process: subprocess.Popen[bytes] | None = None
    control: socket.socket = field(default_factory=socket.socket)
    lock: Lock = field(default_factory=Lock)

    def send(self, page: socket.socket) -> None:
        """Have a child judge what comes through this socket."""
        with self.lock:
            if self.process is None or self.process.poll() is not None:
                self.start()
            with suppress(BrokenPipeError):  # it has just ended: the page is judged by no child
                socket.send_fds(self.control, [b"p"], [page.fileno()])

    def start(self) -> None:
        """Start it as a new program, which inherits nothing of this process's threads."""
        self.control.close()
        self.control, other = socket.socketpair()
        with other:
            command = [sys.executable, "-m", rules_process.__name__, str(other.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[other.fileno()])

    def end(self) -> None:
        """Have it end, with this process."""
        self.control.close()
        if self.process is not None:
            self.process.wait()


_HELPER: Final = _Helper()
atexit.register(_HELPER.end)


def judge_by_rules(material: Material, seconds: float | None = None, rules: str = RULES) -> list[Issue]:
    """Return what the rules find, or the issue of a parked page. Thread-safe."""
    seconds = SECONDS if seconds is None else seconds
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            _HELPER.send(theirs)
        said = _asked(ours, material, rules, time.monotonic() + seconds)
    begun, _, found = said.partition(b"\n")
    if begun[:1] != BEGUN:
        raise RulesFailed("no process began to judge the page")
    if found[:1] == OUR_FAULT:
        raise RulesFailed(found[1:].decode())
    if found[:1] == JUDGED:
        with suppress(ValueError):  # killed while it wrote
            return [Issue(*each) for each in json.loads(found[1:])]
    log.warning("a page was parked", byte_length=len(material.content))
    return [_PARKED]


def _asked(child: socket.socket, material: Material, rules: str, ends: float) -> bytes:
    """Send the page, and return all that its child says before it ends; kill it once its time is up."""
    circumstances = {
        "now": material.now,
        "reveal_delay": material.reveal_delay,
        "token_symbol": material.token_symbol,
        "token_decimals": material.token_decimals,
    }
    length = len(material.content)
    job = {"cpu_seconds": CPU_SECONDS, "rules": rules, "byte_length": length, "material": circumstances}
    said = b""
    try:
        child.settimeout(max(0.001, ends - time.monotonic()))
        with suppress(BrokenPipeError):  # it ended without reading all: what it said is there
            child.sendall(json.dumps(job).encode() + b"\n" + material.content)
        while piece := child.recv(64 * 1024):
            said += piece
            child.settimeout(max(0.001, ends - time.monotonic()))
    except TimeoutError:
        number, is_whole, _ = said[1:].partition(b"\n")
        if is_whole:
            with suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)  # it has not closed its socket, so the number is still its own
        raise RulesFailed(f"the rules got less than {CPU_SECONDS} seconds of processor time in time") from None
    return said
