"""Every client of ours that reads what somebody else's server answers, over a table of malformed answers.

Each answer ends with one of the client's own errors, in the time that the client has, and in bounded memory: all of
them together, many at a time. The unusual ones that are whole are taken.
"""

import json
from hashlib import sha256
from pathlib import Path

import pytest
import urllib3
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, quantity
from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto.beacon import Beacon, BeaconClient
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.types import Bytes32
from service_cli import api as cli_api
from service_cli.errors import MALFORMED, CommandFailed, CommandRefused
from service_cli.work import storage as cli_storage

from tests.hostile.answers import rpc_answer
from tests.hostile.asking import TOOK, Ask, ask_all, check
from tests.hostile.memory import MIB
from tests.vectors.samples import BEACON


def test_malformed_rpc_answers_are_unavailable(caplog: pytest.LogCaptureFixture) -> None:
    def client(seconds: float) -> Ask:
        def ask(url: str) -> str:
            rpc = Rpc([url], timeout=urllib3.Timeout(seconds), answer_seconds=seconds)
            try:
                return TOOK if quantity(rpc.call("eth_chainId")) == 1 else "another number"
            except ChainUnavailable:
                return "unavailable"

        return ask

    check(ask_all(client, rpc_answer(), 24 * MIB), errors={"unavailable"})
    assert "127.0.0.1" not in caplog.text  # an address may hold a key


def test_malformed_beacon_answers_have_no_round() -> None:
    def client(seconds: float) -> Ask:
        http = Urllib3Get(answer_seconds=seconds)

        def ask(url: str) -> str:
            try:
                found = BeaconClient([url], BEACON.info, http, SystemClock()).round(7)
            except SealedDataError as error:
                return error.code
            return TOOK if found == Beacon(7, BEACON.signature(7)) else "not yet"

        return ask

    errors = {"beacon_unavailable", "beacon_invalid"}
    check(ask_all(client, json.dumps(BEACON.beacon_json(7)).encode(), 24 * MIB), errors=errors)


def test_malformed_api_answers_name_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    def client(seconds: float) -> Ask:
        monkeypatch.setattr(cli_api, "ANSWER_SECONDS", seconds)
        monkeypatch.setattr(cli_api, "TIMEOUT", urllib3.Timeout(seconds))

        def ask(url: str) -> str:
            try:
                found = cli_api.ApiClient(url, None).get("/api/deployment", patient=False).json()
            except (CommandFailed, CommandRefused) as error:
                return error.code
            return TOOK if found.get("chain") == 1 else "another object"  # one that an RPC client would not take

        return ask

    errors = {"api_unreachable", MALFORMED, "another object"}
    check(ask_all(client, b'{"chain": 1}', 96 * MIB), errors=errors)


def test_malformed_download_keeps_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good = bytes(range(256)) * 8
    digest = Bytes32(f"0x{sha256(good).hexdigest()}")

    def client(seconds: float) -> Ask:
        monkeypatch.setattr(cli_storage, "BEGIN_SECONDS", seconds)

        def ask(url: str) -> str:
            file = tmp_path / url.rpartition("/")[2]
            try:
                with file.open("w+b", buffering=0) as opened:
                    cli_storage.download(url, opened, len(good), digest)
            except (CommandFailed, SealedDataError) as error:
                assert not file.exists() or file.stat().st_size <= len(good)
                return error.code
            return TOOK if file.read_bytes() == good else "other bytes"

        return ask

    errors = {"storage_unreachable", "storage_refused", "storage_mismatch", "ciphertext_mismatch"}
    check(ask_all(client, good, 24 * MIB), errors=errors)
