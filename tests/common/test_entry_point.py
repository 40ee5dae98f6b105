"""SIGTERM ends a process of a service wherever it waits, also as process 1 of its container."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import psutil
import pytest
from bounty_protocol.crypto.x25519 import Identity
from service_common.entry_point import TERMINATED

FIRST_IN_ITS_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child")
COMMANDS = [
    ("reviewer", "await-schema"),
    ("api", "migrate"),
    ("indexer", "status"),
    ("indexer", "verify"),
    ("indexer", "rebuild"),
    ("delivery", "keys"),
]


@cache
def prefix() -> tuple[str, ...]:
    """Makes a command process 1 where that is permitted; elsewhere the exit code alone shows the handler."""
    tried = subprocess.run([*FIRST_IN_ITS_NAMESPACE, "true"], capture_output=True, check=False, timeout=10)
    return FIRST_IN_ITS_NAMESPACE if tried.returncode == 0 else ()


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """Accepts connections and says nothing, as a database that hangs."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(120)  # until a process has started, on any machine
        yield server


@pytest.mark.parametrize(("service", "command"), COMMANDS)
def test_command__that_waits_for_the_database__ends_on_sigterm(
    silent_server: socket.socket, tmp_path: Path, service: str, command: str
) -> None:
    port = silent_server.getsockname()[1]
    keys = tmp_path / "keys"
    keys.write_text(json.dumps([Identity.generate().to_text()]))
    keys.chmod(0o600)
    environment = {
        "SERVICE_DATABASE_URL": f"postgresql://service@127.0.0.1:{port}/service",
        "SERVICE_REDIS_URL": f"redis://127.0.0.1:{port}/0",
        "SERVICE_RPC_URLS": f"http://127.0.0.1:{port}",
        "SERVICE_CHAIN_ID": "31337",
        "SERVICE_HUB_ADDRESS": "0x" + "22" * 20,
        "SERVICE_DEPLOY_BLOCK": "1",
        "SERVICE_BLOCK_TIME_SECONDS": "2",
        "SERVICE_PUBLIC_HOST": "bounties.example",
        "SERVICE_DELIVERY_PRIVATE_KEYS_FILE": str(keys),
    }
    program = Path(sys.executable).parent / f"service-{service}"
    words = [*prefix(), str(program), command]
    with subprocess.Popen(words, env=os.environ | environment, stderr=subprocess.PIPE, text=True) as started:
        try:
            connection, _ = silent_server.accept()
            with connection:
                os.kill(_own_process(started.pid), signal.SIGTERM)
                _, told = started.communicate(timeout=60)
        finally:
            started.kill()
    assert started.returncode == TERMINATED, told
    assert "Traceback" not in told


def _own_process(started: int) -> int:
    """Of the command itself: the child of what made its namespace."""
    return psutil.Process(started).children()[0].pid if prefix() else started
