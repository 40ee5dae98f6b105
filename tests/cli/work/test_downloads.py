"""Downloads that were interrupted: what stays of them, how they are continued, and what is never taken for a part."""

import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from bounty_protocol.domain.envelope.document import parse_envelope
from bounty_protocol.types import Bytes32
from local_stack import gcs
from service_api.storage.gcs import GcsStore
from service_api.storage.settings import StorageSettings
from service_cli.errors import CommandFailed
from service_cli.work import storage
from service_cli.work.downloads import download_file
from service_cli.work.storage import download

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import spawn
from tests.cli.ledger import Ledger
from tests.cli.servers import Reply, Request, RpcProxy, Server
from tests.cli.terminal import Terminal
from tests.proxy import Proxy, proxies
from tests.raw_server import raw_server, whole
from tests.waiting import wait_until

MIB = 2**20
PASSED = 2 * MIB
"""What comes before the storage stalls."""
DATA = os.urandom(4 * MIB + 11)
HALF = len(DATA) // 2
DIGEST = Bytes32(f"0x{sha256(DATA).hexdigest()}")
OF = "31337-0xa1-7-0xb2-0x51"


@dataclass(frozen=True, slots=True)
class Stalling:
    """A Submission of some MB whose ciphertext is in the real storage's twin, behind a proxy."""

    names: tuple[str, str, str]
    size: int
    proxy: Proxy


@pytest.fixture
def stalling(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Iterator[Stalling]:
    bounty, page = ledger.fund(seconds=3_000, judging=20 * 86_400)
    api.keep_page(page)
    solver = person(ledger, api, rpc, tmp_path / "solver", "solver-1")
    (solver.home / "work").mkdir()
    (solver.home / "work" / "data.bin").write_bytes(DATA)
    recorded = solver.run("solver:submit", str(bounty), "work").event("submit.submission_recorded")
    commitment = str(recorded["submission_commitment"])
    ledger.reveal(bounty)
    locator = parse_envelope(api.envelopes[commitment]).ciphertext.storage_locator
    content = api.objects.pop(locator)
    with gcs.start() as twin, proxies(twin.port) as (proxy,):
        store = GcsStore(StorageSettings(twin.bucket, proxy.url(twin.url), twin.credentials_file.read_text()))
        digest = Bytes32(f"0x{sha256(content).hexdigest()}")
        target = store.sign_upload(locator, sha256=digest, byte_length=len(content), lifetime=600)
        storage.upload(storage.UploadAddress(target.url, target.headers), _written(tmp_path / "sealed", content))
        info = store.stat(locator)
        assert info is not None
        signed = store.sign_download(locator, generation=info.generation, lifetime=600).url
        store.close()
        api.lies["content"] = lambda answer: answer | {"download_url": signed}
        proxy.forget()
        yield Stalling((str(bounty), str(recorded["solver"]), commitment), len(content), proxy)


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def parts(home: Terminal) -> list[Path]:
    return list((home.home / "state" / "service-cli" / "downloads").glob("*"))


def interrupted(guardian: Terminal, stalling: Stalling) -> int:
    """Have a first run end in the middle; how much it kept."""
    stalling.proxy.most = PASSED
    process = spawn(guardian, "guardian:open", *stalling.names, "out")
    wait_until(lambda: any(path.stat().st_size >= PASSED - MIB for path in parts(guardian)))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    (part,) = parts(guardian)
    assert part.stat().st_mode & 0o777 == 0o600
    assert part.parent.stat().st_mode & 0o777 == 0o700
    assert not (guardian.home / "out").exists()
    stalling.proxy.forget()
    return part.stat().st_size


def test_interrupted_download_asks_for_the_rest(guardian: Terminal, stalling: Stalling) -> None:
    kept = interrupted(guardian, stalling)
    assert kept >= PASSED - MIB
    ran = guardian.run("guardian:open", *stalling.names, "out")
    assert ran.last["event"] == "guardian_open.artifact_opened"
    assert (guardian.home / "out" / "data.bin").read_bytes() == DATA
    assert re.findall(rb"Range: ([^\r]+)", stalling.proxy.asked) == [f"bytes={kept}-".encode()]
    assert stalling.size - kept <= stalling.proxy.answered < stalling.size - kept + 4_096
    assert f"continuing at {kept / stalling.size:.0%} " in ran.words
    assert parts(guardian) == []


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "service-cli" / "downloads"


def begun(state: Path, content: bytes) -> None:
    """What an earlier run left."""
    state.mkdir(parents=True)
    (state / f"{OF}.age").write_bytes(content)


def ranged(request: Request, content: bytes = DATA) -> Reply:
    """An honest storage."""
    found = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
    if found is None:
        return 200, content, {}
    begin = int(found[1])
    if begin >= len(content):
        return 416, b"", {}
    headers = {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"}
    return 206, content[begin:], headers


def of_range(status: int, body: bytes, content_range: str | None = None) -> Callable[[Request], Reply]:
    """Answers a request for a part so, and one for the whole honestly."""

    def answer(request: Request) -> Reply:
        headers = {} if content_range is None else {"Content-Range": content_range}
        return (status, body, headers) if "range" in request.headers else ranged(request)

    return answer


LAST = len(DATA) - 1
ANSWERS = {
    "the part": (ranged, 1),
    "all of it": (of_range(200, DATA), 1),
    "another begin": (of_range(206, DATA[HALF + 1 :], f"bytes {HALF + 1}-{LAST}/{len(DATA)}"), 2),
    "another whole": (of_range(206, DATA[HALF:], f"bytes {HALF}-{LAST}/{len(DATA) + 1}"), 2),
    "no place": (of_range(206, DATA[HALF:]), 2),
    "nothing there": (of_range(416, b""), 2),
    "more bytes": (of_range(206, DATA[HALF:] + b"x", f"bytes {HALF}-{LAST}/{len(DATA)}"), 2),
    "other bytes": (of_range(206, bytes(len(DATA) - HALF), f"bytes {HALF}-{LAST}/{len(DATA)}"), 2),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_continued_download_has_the_committed_bytes(state: Path, name: str) -> None:
    answer, requests = ANSWERS[name]
    begun(state, DATA[:HALF])
    with Server(answer) as server, download_file(OF, len(DATA)) as file:
        download(server.url, file, len(DATA), DIGEST)
        assert (state / f"{OF}.age").read_bytes() == DATA
    assert [request.headers.get("range") for request in server.requests] == [f"bytes={HALF}-", None][:requests]
    assert not (state / f"{OF}.age").exists()


def test_download_that_drips_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte every two seconds once had no end: each wait for it was short."""
    monkeypatch.setattr(storage, "BEGIN_SECONDS", 0.3)
    answer = whole(bytes(2**30 // 2**20))
    with (
        raw_server(lambda: (answer[at : at + 1] for at in range(len(answer))), pause=0.02) as slow,
        tempfile.TemporaryFile(buffering=0) as file,
        pytest.raises(CommandFailed) as failure,
    ):
        download(slow.url, file, 2**30, DIGEST)
    assert failure.value.code == "storage_unreachable"
    assert "too slow" in failure.value.message
