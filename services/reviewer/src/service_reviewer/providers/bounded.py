"""The rules in a process of their own, which ends.

It ends within ``CPU_SECONDS`` of processor time and ``SECONDS`` in all, for every page. A page that takes more
processor time, takes more memory than there is, or kills the process is parked: it gets a judgement as any other page,
not ready, so that it is charged and never judged again, and its bytes are not kept, since nobody has looked for secrets
in them. A mistake of the rules themselves, and a machine that gave them too little of its time, are raised here as
``RulesFailed``: a fault of the service, no judgement, and not charged.
"""

import json
import os
import resource
import select
import signal
import time
import traceback
import warnings
from contextlib import suppress
from threading import Lock
from typing import Final, NoReturn

from bounty_protocol.errors import Issue
from bounty_protocol.readiness.material import Material
from service_common.log import get_logger

from service_reviewer.providers.port import Judgement
from service_reviewer.providers.rules import RulesProvider

CPU_SECONDS: Final = 15
"""Several times what the worst page of the largest size takes."""
SECONDS: Final = 30.0
"""With the bound on a model's answers, below the time that a review's job has."""
_PARKED: Final = Issue(
    "body",
    "Takes longer to read than a review may last. Make the page shorter, or simpler in form: fewer links, tables and "
    "nested lists.",
)
_JUDGED, _OUR_FAULT, _TOO_MUCH = 0, 1, 2
_CHUNK: Final = 64 * 1024

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


class BoundedRules:
    """The rules as a provider that always ends, within ``seconds`` where those are fewer. Thread-safe."""

    def __init__(self, rules: RulesProvider, seconds: float | None = None) -> None:
        self._rules, self._seconds = rules, seconds

    def judge(self, material: Material) -> Judgement:
        """The rules' judgement, or that of a parked page."""
        seconds = min(SECONDS, self._seconds or SECONDS)
        with _FORKING.lock, warnings.catch_warnings():
            # The child runs the rules and ends: it needs nothing that another thread might hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                self._judge_in_child(material, writing)
            os.close(writing)
        try:
            said, is_whole = _read(reading, time.monotonic() + seconds)
        finally:
            os.close(reading)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)  # it has written everything, or its time is up
            _, status = os.waitpid(child, 0)
        if not is_whole:
            raise RulesFailed(f"the rules got less than {CPU_SECONDS} seconds of processor time in {seconds}")
        return self._conclude(material, said, status)

    def _judge_in_child(self, material: Material, writing: int) -> NoReturn:
        code = _OUR_FAULT
        try:
            _, hard = resource.getrlimit(resource.RLIMIT_CPU)
            used = sum(os.times()[:2])
            resource.setrlimit(resource.RLIMIT_CPU, (int(used) + CPU_SECONDS, hard))
            try:
                judgement = self._rules.judge(material)
                issues = [[issue.path, issue.message] for issue in judgement.issues]
                code, said = _JUDGED, json.dumps([issues, judgement.withhold])
            except (MemoryError, RecursionError):
                code, said = _TOO_MUCH, ""
            except Exception as error:  # noqa: BLE001  # sent to the parent, which raises it
                said = _whereabouts(error)
            _write(writing, bytes([code]) + said.encode())
        finally:
            os._exit(code)

    def _conclude(self, material: Material, said: bytes, status: int) -> Judgement:
        if said[:1] == bytes([_OUR_FAULT]) or (not said and os.WIFEXITED(status)):
            raise RulesFailed(said[1:].decode())
        if said[:1] == bytes([_JUDGED]):
            with suppress(ValueError):  # killed while it wrote
                issues, withhold = json.loads(said[1:])
                return self._rules.judgement([Issue(*each) for each in issues], withhold=withhold)
        log.warning("a page was parked", status=status, byte_length=len(material.content))
        return self._rules.judgement([_PARKED], withhold=True)


def _whereabouts(error: Exception) -> str:
    """Its kind and its frames, the innermost last: enough to find the mistake."""
    frames = traceback.extract_tb(error.__traceback__)
    return " > ".join([type(error).__name__, *(f"{each.filename}:{each.lineno} in {each.name}" for each in frames)])


def _read(descriptor: int, ends: float) -> tuple[bytes, bool]:
    """All bytes until the other side is closed or the time is up, and whether it was closed."""
    pieces: list[bytes] = []
    while select.select([descriptor], [], [], max(0.0, ends - time.monotonic()))[0]:
        piece = os.read(descriptor, _CHUNK)
        if not piece:
            return b"".join(pieces), True
        pieces.append(piece)
    return b"".join(pieces), False


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
