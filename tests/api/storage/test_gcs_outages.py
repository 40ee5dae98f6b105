"""Failures of the storage become one refusal without the library's words, and pass when the storage is back."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import UnixSeconds
from local_stack import gcs
from service_api.storage import gcs as module
from service_api.storage.gcs import GcsStore, ObjectInfo
from service_api.storage.settings import StorageSettings
from structlog.testing import capture_logs

INFO = ObjectInfo("submissions/x.age", 1, 10, UnixSeconds(0))
CALLS: dict[str, Callable[[GcsStore], object]] = {
    "stat": lambda store: store.stat("submissions/x.age"),
    "read": lambda store: list(store.read(INFO)),
    "empty": lambda store: store.empty("submissions/x.age", generation=1),
    "delete": lambda store: store.delete("submissions/x.age", generation=1),
    "list": lambda store: list(store.list("submissions/")),
    "check": lambda store: store.check(),
}


@pytest.fixture(scope="module")
def fragile() -> Iterator[gcs.GcsServer]:
    """A twin of this module's own, since its tests kill it."""
    with gcs.start(name="fragile-twin") as server:
        yield server


def make_store(server: gcs.GcsServer, *, bucket: str = "", credentials: str = "") -> GcsStore:
    key = credentials or server.credentials_file.read_text()
    return GcsStore(StorageSettings(bucket or server.bucket, server.url, key), retry_seconds=0.5)


@pytest.mark.parametrize("call", CALLS)
def test_storage_down_is_unavailable_and_recovers(fragile: gcs.GcsServer, call: str) -> None:
    store = make_store(fragile)
    store.check()
    fragile.kill()

    with pytest.raises(ServiceError) as refusal:
        CALLS[call](store)
    fragile.restart()

    assert refusal.value.code == "storage_unavailable"
    assert refusal.value.message == "The artifact storage does not answer."
    assert store.stat("submissions/x.age") is None  # a token of the former process is renewed on the way
    store.close()


def test_gcs_store__bucket_missing__check_fails(fragile: gcs.GcsServer) -> None:
    store = make_store(fragile, bucket="another-bucket")

    with pytest.raises(ServiceError) as refusal:
        store.check()
    store.close()

    assert refusal.value.code == "storage_unavailable"


def test_unreadable_key_is_refused_at_start(fragile: gcs.GcsServer) -> None:
    key = json.loads(fragile.credentials_file.read_text()) | {"private_key": "-----BEGIN PRIVATE KEY-----\nno"}

    with pytest.raises(ServiceError) as refusal:
        make_store(fragile, credentials=json.dumps(key))

    assert "BEGIN" not in str(refusal.value)


def test_gone_account_is_told_without_its_secret(fragile: gcs.GcsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "log", structlog.get_logger())
    account = json.loads(fragile.credentials_file.read_text()) | {"private_key_id": "retired"}
    store = GcsStore(StorageSettings(fragile.bucket, fragile.url, json.dumps(account)), retry_seconds=1.0)
    with capture_logs() as lines, pytest.raises(ServiceError) as refusal:
        store.stat("submissions/x.age")
    store.close()
    assert refusal.value.code == "storage_unavailable"
    (line,) = lines
    assert line["event"] == "storage_failed"
    assert "invalid_grant" in line["detail"]
    assert_no_secret(line, account)


def assert_no_secret(line: Any, account: dict[str, str]) -> None:
    text = json.dumps(line, default=str)
    pieces = [piece for piece in account["private_key"].splitlines() if len(piece) > 20]
    assert len(pieces) > 10
    for word in (*pieces, "Bearer", "assertion=", "PRIVATE KEY"):
        assert word not in text
