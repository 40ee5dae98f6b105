"""Transient failures of the storage are passed over, and repeating a call does nothing twice."""

import gc
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import urllib3
from local_stack import gcs
from service_api.storage.gcs import GcsStore
from service_api.storage.port import CHUNK_BYTES
from service_common.storage_settings import StorageSettings

from tests.api.storage.test_object_store_contract import send, sha256
from tests.serving import serving

DATA = bytes(range(256)) * (CHUNK_BYTES // 256) + b"the second chunk"


@dataclass
class Flaky:
    """Stands before the twin and fails every request once: ``lost`` after it was carried out, else before."""

    target: str
    lost: bool
    seen: set[tuple[str, str, str]] = field(default_factory=set)
    carried_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                key = (self.command, self.path, self.headers.get("Range", ""))
                first = key not in outer.seen
                outer.seen.add(key)
                answer = None
                if outer.lost or not first:
                    with urllib3.PoolManager(retries=False) as http:
                        answer = http.request(self.command, outer.target + self.path, headers=dict(self.headers))
                    outer.carried_out.append(self.command)
                if first or answer is None:
                    self._answer(503, b"", {})
                else:
                    self._answer(answer.status, answer.data, dict(answer.headers))

            do_DELETE = do_GET  # noqa: N815

            def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    if name.lower() not in {"content-length", "connection", "date", "server"}:
                        self.send_header(name, value)
                if status != 204:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._serving = ExitStack()
        self._serving.enter_context(serving(self.server))

    def close(self) -> None:
        self._serving.close()


@pytest.fixture(params=[False, True], ids=["never arrived", "answer lost"])
def flaky(request: pytest.FixtureRequest, twin: gcs.GcsServer) -> Iterator[Flaky]:
    proxy = Flaky(twin.url, request.param)
    yield proxy
    proxy.close()


@pytest.fixture
def unread_answers() -> Iterator[None]:
    """The library leaves the answer of a failed download unread, its connection to the garbage collector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


@pytest.mark.usefixtures("unread_answers")
def test_gcs_store__every_request_fails_once__each_call_does_its_work_once(
    flaky: Flaky, twin: gcs.GcsServer, store: GcsStore, http: urllib3.PoolManager, locator: str
) -> None:
    upload = store.sign_upload(locator, sha256=sha256(DATA), byte_length=len(DATA), lifetime=60)
    assert send(http, upload, DATA) == 200
    url = f"http://127.0.0.1:{flaky.server.server_address[1]}"
    through = GcsStore(StorageSettings(twin.bucket, url, twin.credentials_file.read_text()), retry_seconds=20.0)
    info = through.stat(locator)
    assert info is not None
    assert info == store.stat(locator)
    assert b"".join(through.read(info)) == DATA
    assert [each.locator for each in through.list(locator)] == [locator]
    other = info.generation + 1
    assert through.delete(locator, generation=other) is False
    assert store.stat(locator) == info
    assert through.delete(locator, generation=info.generation) is not flaky.lost  # gone by the attempt before
    assert store.stat(locator) is None
    through.close()
