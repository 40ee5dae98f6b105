"""The local stack's beacon, as a relay client and as drand's own tools see it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from beacon.server import answer
from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto.beacon import Beacon, BeaconClient, NotYet, fetch_info
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.crypto.beacon_info import parse_info
from bounty_protocol.crypto.failures import Failure, SealedDataError

from tests.protocol.crypto.test_beacon import Clock
from tests.vectors.samples import BEACON

CHAIN = BEACON.info.chain_hash[2:]
NOW = BEACON.info.time_of(9)


@pytest.mark.parametrize("prefix", ["", f"/{CHAIN}"])
def test_server__each_route__answers_with_and_without_the_chain_hash(prefix: str) -> None:
    status, body, _ = answer(f"{prefix}/info", BEACON, Clock(NOW))
    assert status == 200
    assert parse_info(json.dumps(body).encode(), BEACON.info.chain_hash, BEACON.info.public_key) == BEACON.info
    assert answer(f"{prefix}/public/latest", BEACON, Clock(NOW))[1] == BEACON.beacon_json(9)
    assert answer(f"{prefix}/public/8", BEACON, Clock(NOW))[1] == BEACON.beacon_json(8)
    assert answer(f"{prefix}/health", BEACON, Clock(NOW))[:2] == (200, {"current": 9, "expected": 9})


def test_server__chains__the_one() -> None:
    assert answer("/chains", BEACON, Clock(NOW))[1] == [CHAIN]


def test_server__around_a_rounds_time__never_a_second_early() -> None:
    status, body, headers = answer("/public/9", BEACON, Clock(NOW - 1))
    assert (status, headers) == (425, {"Retry-After": "1"})
    assert "signature" not in json.dumps(body)
    assert answer("/public/9", BEACON, Clock(NOW))[0] == 200
    assert answer("/public/10", BEACON, Clock(NOW + 2))[0] == 425


def test_server__before_genesis__nothing_is_latest() -> None:
    assert answer("/public/latest", BEACON, Clock(BEACON.info.genesis_time - 1))[0] == 425
    assert answer("/public/latest", BEACON, Clock(BEACON.info.genesis_time))[0] == 200


@pytest.mark.parametrize(
    "path", ["/", "/public/0", "/public/09", "/public/-1", "/public/x", f"/{'0' * 64}/info", "/info/", "/../info"]
)
def test_server__any_other_path__not_found(path: str) -> None:
    assert answer(path, BEACON, Clock(NOW))[0] == 404


def _start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    (tmp_path / "seed").write_bytes(b"a seed")
    command = [sys.executable, "-m", "beacon", "--seed-file", str(tmp_path / "seed"), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_process__started_asked_and_stopped__serves_verified_rounds_and_exits_0(
    stop: signal.Signals, tmp_path: Path
) -> None:
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


def test_process__wrong_arguments__usage_and_no_traceback(tmp_path: Path) -> None:
    for arguments in (["--genesis", "1", "--period", "0"], ["--period", "1"]):
        process = _start(tmp_path, *arguments)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 2
        assert "Traceback" not in errors


def test_http__nobody_there__the_next_relay_or_unavailable() -> None:
    client = BeaconClient(["http://127.0.0.1:9"], BEACON.info, Urllib3Get(), Clock(NOW))
    with pytest.raises(SealedDataError) as refusal:
        client.round(9)
    assert refusal.value.failure is Failure.BEACON_UNAVAILABLE
