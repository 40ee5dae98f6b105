"""Which files of tests take the processor's time, in a session's last lines: where making tests cheaper pays.

A file has what its tests took with the processes that ended meanwhile. A server that goes on counts nowhere, and what
several files share counts for the first of them.
"""

import resource
from collections import defaultdict
from collections.abc import Generator
from typing import Any, Final

import pytest

SHOWN: Final = 10
LEAST_SECONDS: Final = 10.0
_KEY: Final = "spent"


class Spending:
    """A plugin of pytest, in each worker of xdist and in the process that has the terminal."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Count one test, its fixtures included."""
        before = _used()
        try:
            return (yield)
        finally:
            self._seconds[item.nodeid.partition("::")[0]] += _used() - before

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """In a worker: report what was counted there."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_KEY] = dict(self._seconds)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Beside the workers: add what one of them counted. One that was killed reported nothing."""
        for file, spent in getattr(node, "workeroutput", {}).get(_KEY, {}).items():
            self._seconds[file] += spent

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The files that took most."""
        most = sorted(self._seconds.items(), key=lambda each: -each[1])[:SHOWN]
        if shown := [f"{spent:6.0f} s  {file}" for file, spent in most if spent >= LEAST_SECONDS]:
            terminalreporter.section(f"CPU by file, of {sum(self._seconds.values()):.0f} s", bold=False)
            for line in shown:
                terminalreporter.write_line(line)


def _used() -> float:
    """Seconds of CPU of this process and of all children that ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)
