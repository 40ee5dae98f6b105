"""The rules of ``bounty_protocol.readiness``, run in a process of their own, which ends.

It ends within ``CPU_SECONDS`` of processor time and ``SECONDS`` in all, for every page. A page that takes more
processor time, takes more memory than there is, or kills the process is parked: it gets a judgement as any other page,
not ready, so that it is charged and never judged again. A mistake of the rules themselves, and a machine that gave them
too little of its time, are raised here as ``RulesFailed``: a fault of the service, no judgement, and not charged.
"""

import json
import os
import resource
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Final, NoReturn

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from bounty_protocol.readiness.review import review
from service_common.log import get_logger

CPU_SECONDS: Final = 15
"""Several times what the worst page of the largest size takes."""
SECONDS: Final = 30.0
"""With the bound on a model's answers, below the time that a review's job has."""
_PARKED: Final = Issue(
    "body",
    "Takes longer to read than a review may last. Make the page shorter, or simpler in form: fewer links, tables and "
    "nested lists.",
)
_JUDGED, _OUR_FAULT, _TOO_MUCH = b"j", b"f", b"m"
"""The first byte of what the child writes."""

log = get_logger(__name__)


class RulesFailed(Exception):
    """A fault of ours: of which kind and where, or that the rules got too little time. The mistake's own message, which
    may quote the page, is not in it: this goes to the log, and with a failed job to Redis."""


class _Forking:
    """A lock around a pipe's start: a child of another thread would keep its end of it open, and make its reader wait.
    No child finds it held, by a thread that it does not have: a worker of the server could judge no page for ever."""

    def __init__(self) -> None:
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = Lock()


_FORKING: Final = _Forking()


def judge_by_rules(
    material: Material, seconds: float | None = None, rules: Callable[[Material], Sequence[Issue]] = review
) -> list[Issue]:
    """Return what the rules find, or the issue of a parked page. Thread-safe."""
    seconds = SECONDS if seconds is None else seconds
    with _FORKING.lock, warnings.catch_warnings():
        # The child runs the rules and ends: it needs nothing that another thread might hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _judge_in_child(rules, material, writing)
        os.close(writing)
    try:
        said = _read_all(reading, time.monotonic() + seconds)
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)  # it has written everything, or its time is up
        _, status = os.waitpid(child, 0)
    if said is None:
        raise RulesFailed(f"the rules got less than {CPU_SECONDS} seconds of processor time in {seconds}")
    if said[:1] == _OUR_FAULT or (not said and os.WIFEXITED(status)):
        raise RulesFailed(said[1:].decode())
    if said[:1] == _JUDGED:
        with suppress(ValueError):  # killed while it wrote
            return [Issue(*each) for each in json.loads(said[1:])]
    log.warning("a page was parked", status=status, byte_length=len(material.content))
    return [_PARKED]


def _judge_in_child(rules: Callable[[Material], Sequence[Issue]], material: Material, writing: int) -> NoReturn:
    """Write the outcome, and end this process."""
    try:
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (int(sum(os.times()[:2])) + CPU_SECONDS, hard))
        try:
            said = _JUDGED + json.dumps([[issue.path, issue.message] for issue in rules(material)]).encode()
        except (MemoryError, RecursionError):
            said = _TOO_MUCH
        except Exception as error:  # noqa: BLE001  # sent to the parent, which raises it
            frames = traceback.extract_tb(error.__traceback__)
            places = (f"{each.filename}:{each.lineno} in {each.name}" for each in frames)
            said = _OUR_FAULT + " > ".join([type(error).__name__, *places]).encode()
        while said:
            said = said[os.write(writing, said) :]
    finally:
        os._exit(0)


def _read_all(descriptor: int, ends: float) -> bytes | None:
    """Read all bytes until the other side closes; None if the time is up first."""
    pieces: list[bytes] = []
    while select.select([descriptor], [], [], max(0.0, ends - time.monotonic()))[0]:
        piece = os.read(descriptor, 64 * 1024)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
    return None
