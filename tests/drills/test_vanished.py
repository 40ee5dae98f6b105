"""A pod whose network went with its node: connections to it are neither answered nor closed."""

import json
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def test_pages__whose_connections_lead_to_a_pod_that_is_gone__ask_another_one() -> None:
    """Needs Linux with namespaces for whoever runs it, and its programs ``ip`` and ``ss``."""
    command = ["unshare", "--map-root-user", "--net", sys.executable, "-m", "tests.drills.vanishing"]
    played = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=60, check=False)
    assert played.returncode == 0, played.stderr
    lines = [json.loads(line) for line in played.stdout.splitlines()]
    assert lines == [{"lost": 1}, {"path": "/second"}, {"path": "/third"}, {"path": "/fourth"}]
