"""The log of a run: one JSON object a line, of what was drawn, done, broken and found, in the order of time."""

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class RunLog:
    """Written by every thread of a run. A difference is what must not be, and fails the run."""

    path: Path
    began: float = field(default_factory=time.monotonic)
    counts: Counter[str] = field(default_factory=Counter)
    """How many lines there are of each kind and result, as ``act.ok``."""
    differences: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"")

    def write(self, event: str, result: str = "", **fields: object) -> None:
        """Note something with its time in seconds since the begin."""
        line: dict[str, object] = {"at": round(time.monotonic() - self.began, 3), "event": event}
        line |= {"result": result} if result else {}
        with self._lock:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line | fields, default=str) + "\n")
            self.counts[f"{event}.{result}" if result else event] += 1

    def differs(self, what: str, **fields: object) -> None:
        """Note what must not be."""
        self.write("difference", what, **fields)
        with self._lock:
            shown = " ".join(f"{name}={value}" for name, value in fields.items())
            self.differences.append(f"{what} {shown}".rstrip())

    def seconds(self) -> float:
        """Since the begin."""
        return time.monotonic() - self.began
