"""The memory of a process."""

from pathlib import Path


def resident(name: str = "VmHWM", pid: int | str = "self") -> float:
    """Return a figure of a process's memory in MB: ``VmRSS`` now, ``VmHWM`` the most since it became this program.

    0 when it is gone. ``getrusage`` would count what it held before it became this program, too.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    found = next((line for line in status.splitlines() if line.startswith(name)), f"{name}: 0 kB")
    return int(found.split()[1]) / 1024
