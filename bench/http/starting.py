"""A server of these benchmarks, in a process of its own."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import urllib3
from local_stack.ports import HOST
from local_stack.process import Child, minimal_environment
from local_stack.runtime import Runtime

TOP: Final = Path(__file__).resolve().parents[2]


def start_python(
    runtime: Runtime, name: str, arguments: Callable[[int], Sequence[str]], status: int, **variables: str
) -> tuple[Child, int]:
    """Start an interpreter with the arguments for a port; return it with its port, once it answers with ``status``."""
    environment = minimal_environment(runtime.logs) | {"PYTHONPATH": os.pathsep.join(sys.path), **variables}

    def spawn(port: int) -> Child:
        return runtime.family.spawn(name, [sys.executable, *arguments(port)], environment=environment, cwd=TOP)

    def answers(port: int) -> bool:
        try:
            return urllib3.request("GET", f"http://{HOST}:{port}/", retries=False, timeout=2).status == status
        except urllib3.exceptions.HTTPError:
            return False

    return runtime.start_listening(spawn, answers, 30.0)
