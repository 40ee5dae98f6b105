"""Credentials that the storage takes no more: one refusal, told in the log without the secret, over once put right."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import structlog
import urllib3
from bounty_protocol.errors import ServiceError
from local_stack import gcs
from service_api.storage import gcs as module
from service_api.storage.gcs import GcsStore
from service_common.storage_settings import StorageSettings
from structlog.testing import capture_logs

from tests.serving import serving

LOCATOR = "submissions/x.age"


class Gate:
    """Passes requests on to the twin; while ``refusing``, those for objects are answered that status, as a bucket does
    whose rights were taken away or whose tokens ran out."""

    def __init__(self, twin: gcs.GcsServer) -> None:
        self.refusing: int | None = None
        gate, http = self, urllib3.PoolManager(retries=False)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, body = gate.refusing or 0, "application/json", b'{"error": {"code": 0}}'
                if gate.refusing is None:
                    answer = http.request("GET", twin.url + self.path, headers=dict(self.headers))
                    status, kind, body = answer.status, answer.headers["Content-Type"], answer.data
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._serving = ExitStack()
        self._serving.enter_context(serving(self._server))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._serving.close()


@contextmanager
def gate_before(twin: gcs.GcsServer) -> Iterator[Gate]:
    gate = Gate(twin)
    yield gate
    gate.close()


@pytest.mark.parametrize("status", [401, 403])
def test_credentials__that_the_storage_refuses__are_told_without_the_secret_and_work_again_once_put_right(
    twin: gcs.GcsServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(module, "log", structlog.get_logger())
    account = json.loads(twin.credentials_file.read_text())
    with gate_before(twin) as gate:
        store = GcsStore(StorageSettings(twin.bucket, gate.url, json.dumps(account)), retry_seconds=1.0)
        assert store.stat(LOCATOR) is None
        gate.refusing = status
        with capture_logs() as lines, pytest.raises(ServiceError) as refusal:
            store.stat(LOCATOR)
        gate.refusing = None
        assert store.stat(LOCATOR) is None
        store.close()
    assert refusal.value.code == "storage_unavailable"
    assert str(status) not in refusal.value.message
    (line,) = lines
    assert (line["event"], line["action"], line["log_level"]) == ("storage_failed", "stat", "warning")
    assert line["error"] == {401: "Unauthorized", 403: "Forbidden"}[status]
    assert_no_secret(line, account)


def test_credentials__of_an_account_that_is_gone__are_told_without_the_secret(
    twin: gcs.GcsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "log", structlog.get_logger())
    account = json.loads(twin.credentials_file.read_text()) | {"private_key_id": "retired"}
    store = GcsStore(StorageSettings(twin.bucket, twin.url, json.dumps(account)), retry_seconds=1.0)
    with capture_logs() as lines, pytest.raises(ServiceError) as refusal:
        store.stat(LOCATOR)
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
