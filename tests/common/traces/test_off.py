"""A process without traces loads nothing of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bounty_protocol.crypto.x25519 import Identity

MODULES = [
    *(f"service_{name}.main, service_{name}.jobs" for name in ("api", "indexer", "reviewer", "delivery")),
    "service_delivery.wsgi",
]
PROGRAM = "import json, sys, {}; print(json.dumps(sorted(sys.modules)))"


def loaded(module: str, folder: Path, **more: str) -> set[str]:
    """What of OpenTelemetry's SDK a process has imported that has imported ``module``."""
    keys = folder / "keys.json"
    keys.touch(mode=0o600)
    keys.write_text(json.dumps([Identity.generate().to_text()]))
    environment = {
        "SERVICE_CHAIN_ID": "31337",
        "SERVICE_HUB_ADDRESS": "0x" + "11" * 20,
        "SERVICE_BLOCK_TIME_SECONDS": "2",
        "SERVICE_RPC_URLS": "http://127.0.0.1:9",
        "SERVICE_PUBLIC_HOST": "bounties.example",
        "SERVICE_DATABASE_URL": "postgresql://service@127.0.0.1:9/service",
        "SERVICE_REDIS_URL": "redis://127.0.0.1:9",
        "SERVICE_DELIVERY_PRIVATE_KEYS_FILE": str(keys),
        "PATH": os.environ["PATH"],
        **more,
    }
    command = [sys.executable, "-c", PROGRAM.format(module)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    found = set(json.loads(done.stdout))
    assert "redis" in found or module.endswith("wsgi")  # it would load the SDK's metrics where it finds them
    return {name for name in found if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))} - {
        "opentelemetry.sdk.metrics"  # kept away, as the room says
    }


@pytest.mark.parametrize("module", MODULES)
def test_process__without_an_endpoint__imports_neither_sdk_nor_exporter(module: str, tmp_path: Path) -> None:
    assert loaded(module, tmp_path) == set()


def test_process__with_an_endpoint__imports_both(tmp_path: Path) -> None:
    found = loaded("service_reviewer.wsgi", tmp_path, SERVICE_OTLP_ENDPOINT="http://127.0.0.1:9")
    assert {"opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"} <= found
