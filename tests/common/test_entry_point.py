"""SIGTERM ends a process of a service wherever it waits, also as process 1 of its container. What a command cannot do
with the database it is given is one sentence.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import psutil
import pytest
from bounty_protocol.crypto.x25519 import Identity
from local_stack.services import MIGRATOR
from service_common.entry_point import TERMINATED

from tests.servers import Database

NOWHERE = "postgresql://service@127.0.0.1:1/service"
FIRST_IN_ITS_NAMESPACE = ("unshare", "--pid", "--fork", "--kill-child")
COMMANDS = [
    ("reviewer", "await-schema"),
    ("indexer", "rebuild"),
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
def test_waiting_command_ends_on_sigterm(
    silent_server: socket.socket, tmp_path: Path, service: str, command: str
) -> None:
    port = silent_server.getsockname()[1]
    environment = environment_of(f"postgresql://service@127.0.0.1:{port}/service", port, tmp_path)
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


def test_other_database_is_one_sentence(database: Database, tmp_path: Path) -> None:
    url = database.server.url("postgres", user=MIGRATOR, password=database.passwords[MIGRATOR])
    told = told_by("delivery", ["keys"], environment_of(url, 1, tmp_path))
    assert told.startswith("service-delivery: the database refused this: relation ")
    assert "another database" in told


def test_missing_database_is_one_sentence(tmp_path: Path) -> None:
    told = told_by("delivery", ["keys"], environment_of(NOWHERE, 1, tmp_path))
    assert told.startswith("service-delivery: the database did not answer: ")


def told_by(service: str, command: Sequence[str], environment: dict[str, str]) -> str:
    """The last line of a command that ends with exit code 1; no line of it is of a traceback."""
    program = Path(sys.executable).parent / f"service-{service}"
    words = [str(program), *command]
    ran = subprocess.run(words, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=120)
    assert "Traceback" not in ran.stderr + ran.stdout
    assert ran.returncode == 1, ran.stderr
    return ran.stderr.splitlines()[-1]


def environment_of(database_url: str, port: int, folder: Path) -> dict[str, str]:
    """Of any command, with all else than the database at a port of this machine."""
    keys = folder / "keys"
    keys.write_text(json.dumps([Identity.generate().to_text()]))
    keys.chmod(0o600)
    return {
        "SERVICE_DATABASE_URL": database_url,
        "SERVICE_REDIS_URL": f"redis://127.0.0.1:{port}/0",
        "SERVICE_RPC_URLS": f"http://127.0.0.1:{port}",
        "SERVICE_CHAIN_ID": "31337",
        "SERVICE_HUB_ADDRESS": "0x" + "22" * 20,
        "SERVICE_DEPLOY_BLOCK": "1",
        "SERVICE_PUBLIC_HOST": "bounties.example",
        "SERVICE_DELIVERY_PRIVATE_KEYS_FILE": str(keys),
    }


def _own_process(started: int) -> int:
    """Of the command itself: the child of what made its namespace."""
    return psutil.Process(started).children()[0].pid if prefix() else started
