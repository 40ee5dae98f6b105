"""The TypeScript client, installed and built once for all tests of a process, and programs run with it."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.beacon_info import BeaconInfo
from local_stack.toolbox import ensure_npm_package, find_npm

TOP: Final = Path(__file__).parents[2]
PACKAGE: Final = TOP / "clients/typescript"
EXAMPLES: Final = TOP / "examples/typescript"
_STRICT: Final = ("--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--types", "node")
_MODULES: Final = ("--target", "es2022", "--module", "nodenext")
_REPORTER: Final = "--test-reporter=tap"
"""What tests in Node print: without it, one thing with Node 20 and another with Node 24."""


def run_node(*arguments: object, timeout: float = 120, variables: Mapping[str, str] | None = None) -> str:
    """What a script prints; raises ``AssertionError`` with its errors where it fails."""
    done = start_node(*arguments, timeout=timeout, variables=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def start_node(
    *arguments: object, timeout: float = 120, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """A script that has ended."""
    return subprocess.run(
        [_node(), _REPORTER, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=PACKAGE,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **(variables or {})},
    )


def _node() -> str:
    npm = find_npm()
    return npm[0] if len(npm) > 1 else shutil.which("node") or "node"


@cache
def built() -> Path:
    """The package's folder; the compiler has accepted its sources and written ``dist``, unless they did not change."""
    modules, stamp = ensure_npm_package(PACKAGE), PACKAGE / "dist/.built-for"
    with (PACKAGE / ".local/build.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = _fingerprint()
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(PACKAGE / "dist", ignore_errors=True)
            run_node(modules / "typescript/bin/tsc", "--project", PACKAGE)
            stamp.write_text(wanted)
    return PACKAGE


@cache
def programs() -> Path:
    """The folder with the programs of examples/typescript, compiled; so was ``test/use.ts``, which no one runs."""
    folder = built() / ".local" / f"programs-{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in (*EXAMPLES.glob("*.ts"), PACKAGE / "test/use.ts"):
        shutil.copy(file, folder)
    run_node(PACKAGE / "node_modules/typescript/bin/tsc", *_STRICT, *_MODULES, *sorted(folder.glob("*.ts")))
    return folder


def write_settings(
    folder: Path, *, api_url: str, rpc_url: str, relay: str, chain_id: int, hub_address: str, info: BeaconInfo
) -> Path:
    """The ``settings.js`` of compiled programs: this deployment in the place of the example's."""
    values = {
        "apiUrl": api_url,
        "rpcUrl": rpc_url,
        "relays": [relay],
        "deployment": {"chainId": chain_id, "hubAddress": hub_address},
        "beacon": {
            "chainHash": info.chain_hash,
            "publicKey": info.public_key,
            "genesisTime": info.genesis_time,
            "periodSeconds": info.period_seconds,
        },
    }
    path = folder / "settings.js"
    path.write_text("".join(f"export const {name} = {json.dumps(value)};\n" for name, value in values.items()))
    return path


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in [PACKAGE / "package-lock.json", PACKAGE / "tsconfig.json", *sorted((PACKAGE / "src").rglob("*.ts"))]:
        digest.update(f"{path.relative_to(PACKAGE)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
