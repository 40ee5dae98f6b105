"""Use of the machine by processes, each with all that it started."""

from collections.abc import Iterator
from contextlib import suppress

import psutil
from local_stack.stack import Stack


def main_processes(stack: Stack) -> dict[str, int]:
    """Return the main process of each that belongs to the service."""
    return {name: running.child.pid for name, running in stack.services.items() if running.child is not None}


def cpu_seconds(roots: dict[str, int]) -> float:
    """Return the CPU seconds of all roots and everything below them, of ended children too."""
    return sum(_cpu(process) for family in _families(roots).values() for process in family)


def cpu_of(stack: Stack) -> float:
    """Return the CPU seconds of all services."""
    return cpu_seconds(main_processes(stack))


def weighed(roots: dict[str, int]) -> dict[str, int]:
    """Return bytes of memory of each root with everything below it, a page that several have counted once: what a
    container takes. More expensive to find out than ``cpu_seconds``.
    """
    found = {}
    for name, family in _families(roots).items():
        found[name] = 0
        for process in family:
            with suppress(psutil.NoSuchProcess):
                found[name] += process.memory_full_info().pss
    return found


def _families(roots: dict[str, int]) -> dict[str, list[psutil.Process]]:
    """Return each root and everything below it; every process of the machine is looked at once."""
    below: dict[int, list[psutil.Process]] = {}
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter(["ppid"]):
        found[process.pid] = process
        below.setdefault(process.info["ppid"], []).append(process)
    return {name: list(_family(found[pid], below)) for name, pid in roots.items() if pid in found}


def _family(root: psutil.Process, below: dict[int, list[psutil.Process]]) -> Iterator[psutil.Process]:
    yield root
    for child in below.get(root.pid, []):
        yield from _family(child, below)


def _cpu(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:  # it ended in this instant; its parent has its times
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
