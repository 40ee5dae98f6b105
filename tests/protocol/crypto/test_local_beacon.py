"""The local stack's beacon, as a relay client and as drand's own tools see it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto.beacon import Beacon, BeaconClient, NotYet, fetch_info
from bounty_protocol.crypto.beacon_http import Urllib3Get


def _start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    (tmp_path / "seed").write_bytes(b"a seed")
    command = [sys.executable, "-m", "beacon", "--seed-file", str(tmp_path / "seed"), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_beacon_process_serves_verified_rounds(stop: signal.Signals, tmp_path: Path) -> None:
    genesis = int(time.time()) - 100
    process = _start(tmp_path, "--period", "1", "--genesis", str(genesis))
    assert process.stdout is not None
    try:
        ready = json.loads(process.stdout.readline())
        http = Urllib3Get()
        info = fetch_info([ready["url"]], ready["chain_hash"], ready["public_key"], http)
        assert (info.genesis_time, info.period_seconds) == (genesis, 1)
        client = BeaconClient(["http://127.0.0.1:9", ready["url"]], info, http, SystemClock())
        assert isinstance(client.round(50), Beacon)
        assert isinstance(client.round(10_000), NotYet)
        assert 100 <= client.latest().round <= time.time() - genesis + 1
    finally:
        process.send_signal(stop)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
