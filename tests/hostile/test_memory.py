"""What answers of 63 MiB cost a process of ours: less memory than its manifest gives it, and less than that in sum.

Each process is one of its own, with everything that it loads: the api and the pages as they are served, the client as
it is called, and what the others do with an endpoint as a program that imports what they import.
"""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Final

import psutil
import pytest
import urllib3
from bounty_protocol.chain.hub_constants import read_hub_constants
from bounty_protocol.chain.rpc_answers import MOST_BYTES, MOST_LOGS
from bounty_protocol.foreign_json import MOST_VALUES
from local_stack.ports import HOST
from local_stack.process import Child

from bench.watching.manifests import memory_limits
from tests.api.conftest import Service
from tests.api.running import start_api
from tests.campaign import size
from tests.hostile.memory import MIB, status_of
from tests.raw_server import raw_server

pytestmark = pytest.mark.nightly
LENGTH: Final = 63 * MIB
CLIENT_BYTES: Final = 160 * MIB
"""What a command may take: it runs on anybody's machine."""
WORD: Final = "0x" + "11" * 32
HUB: Final = "0x" + "42" * 20
LOG: Final = json.dumps(
    {
        "address": HUB,
        "topics": [],
        "data": "0x",
        "blockNumber": "0x1",
        "blockHash": WORD,
        "transactionHash": WORD,
        "logIndex": "0x1",
    },
    separators=(",", ":"),
).encode()
SIGNED = f"/api/bounties/1/submissions/0x{0:064x}/content"


RESULT: Final = b'{"jsonrpc":"2.0","id":0,"result":'


@dataclass(frozen=True, slots=True)
class Filled:
    """A JSON text of some length."""

    first: bytes
    piece: bytes
    last: bytes
    length: int = LENGTH

    def pieces(self) -> Iterator[bytes]:
        """It as an HTTP answer that does not announce its length."""
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        many, rest = divmod((self.length - len(self.first) - len(self.last)) // len(self.piece), 10_000)
        for part in (self.first, *repeat(self.piece * 10_000, many), self.piece * rest, self.last):
            if part:
                yield b"%x\r\n" % len(part) + part + b"\r\n"
        yield b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Numbered:
    """As many as are read of one thing that has its number in it, as a JSON-RPC answer."""

    piece: bytes
    most: int

    def pieces(self) -> Iterator[bytes]:
        one = len(self.piece % self.most) + 1
        many = min(self.most, (MOST_BYTES - 100) // one)
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        yield b"%x\r\n" % len(RESULT + b"[") + RESULT + b"[\r\n"
        for first in range(0, many, 1_000):
            part = b",".join(self.piece % number for number in range(first, min(many, first + 1_000)))
            yield b"%x\r\n" % (len(part) + bool(first)) + b"," * bool(first) + part + b"\r\n"
        yield b"2\r\n]}\r\n0\r\n\r\n"


TOPICS: Final = b'"topics":[' + b",".join([b'"%s"' % WORD.encode()] * 3) + b"]"
OF_BLOCK: Final = Numbered(LOG.replace(b'"topics":[]', TOPICS).replace(b'"0x1"}', b'"0x%x"}'), MOST_LOGS)
"""The logs of one block, in order."""

ANSWERS: Final[Mapping[str, Filled]] = {
    "lists": Filled(RESULT + b"[", b"[],", b"[]]}"),
    "logs": Filled(RESULT + b"[", LOG + b",", LOG + b"]}"),
    "objects": Filled(RESULT + b"[", b'{"":0},', b"{}]}"),
    "numbers": Filled(RESULT + b"[", b"1.5,", b"1]}"),
    "text outside of Latin": Filled(RESULT + b'"', "😀".encode(), b'"}'),
    "short texts": Filled(RESULT + b"[", '"ā",'.encode(), b'""]}'),
    "transactions of a block": Filled(RESULT + b'{"transactions":[', b"[],", b"[]]}}"),
    "an error": Filled(b'{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"m","data":[', b"[],", b"[]]}}"),
    "answers to a batch": Filled(b"[", b'{"id":1},', b"{}]"),
}
CHOSEN: Final = list(ANSWERS)[: size(1, len(ANSWERS))]
READ: Final = (
    Filled(RESULT + b"[", b"[],", b"[]]}", MOST_VALUES // 2 * 3 - 64),
    Filled(b'{"data":{"bounties":[', b"[],", b"[]]}}", MOST_VALUES // 2 * 3 - 64),
    Filled(b'{"data":"', "😀".encode(), b'"}', 2 * MIB),
)
"""What the pages and the client take, and read into as much as they ever do."""


@dataclass
class Wrong:
    """A server that gives the same answer to everything."""

    url: str
    answer: Filled | Numbered = READ[0]


@contextmanager
def wrong() -> Iterator[Wrong]:
    with raw_server(lambda: iter(made.answer.pieces())) as server:
        made = Wrong(server.url.removesuffix("/v1/secret-key"))
        yield made


@pytest.fixture
def hostile() -> Iterator[Wrong]:
    with wrong() as made:
        yield made


def most_of(child: Child) -> int:
    """The most bytes that a process and those that it started held, each at its own moment."""
    family = [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]
    return sum(status_of("VmHWM", each.pid) for each in family)


def get(port: int, path: str, *, authorization: str | None = None) -> int:
    headers = {} if authorization is None else {"Authorization": authorization}
    try:
        return urllib3.request("GET", f"http://{HOST}:{port}{path}", headers=headers, retries=False, timeout=60).status
    except urllib3.exceptions.HTTPError:
        return 0


def signed_by_nobody() -> str:
    """An approval whose block has to be looked at before its signature is."""
    text = "~".join(["0x" + "11" * 20, "0x" + "22" * 65, "1", WORD])
    return "Service-Approval " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "alone", [False, True][: size(1, 2)], ids=lambda alone: "alone" if alone else "beside an honest one"
)
def test_api_with_long_answers_stays_below_its_limit(service: Service, hostile: Wrong, alone: bool) -> None:
    urls = hostile.url if alone else f"{hostile.url},{service.world.node.url}"
    api = start_api(service.runtime, {**service.variables, "SERVICE_RPC_URLS": urls})
    statuses = set[int]()
    for name in CHOSEN:
        hostile.answer = ANSWERS[name]
        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(get, api.port, "/api/deployment") for _ in range(4)]
            asked += [pool.submit(get, api.port, SIGNED, authorization=signed_by_nobody()) for _ in range(4)]
            statuses |= {each.result() for each in asked}
    most = most_of(api.child)
    service.runtime.family.end([api.child])
    print(f"{most / MIB:.0f} MiB, {statuses}")
    assert statuses <= ({503} if alone else {200, 401, 503})
    assert most < memory_limits()["api"]


@pytest.mark.parametrize("asked", ["chain", "api"])
def test_client__with_long_answers__takes_little(service: Service, hostile: Wrong, asked: str, tmp_path: Path) -> None:
    world = service.world
    constants = read_hub_constants(world.rpc, world.hub_address, world.chain_id)
    environment = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "SERVICE_CHAIN_ID": str(world.chain_id),
        "SERVICE_HUB_ADDRESS": world.hub_address,
        "SERVICE_ESCROW_TOKEN_ADDRESS": constants.token.address,
        "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": str(constants.reveal_delay),
        "SERVICE_RPC_URL": hostile.url,
        "SERVICE_API_BASE_URL": hostile.url,
        "SERVICE_SUBGRAPH_ENDPOINT": f"{hostile.url}/subgraph",
    }
    arguments = ["claim", "--claimant-address", HUB, "1"] if asked == "chain" else ["verification-record", "1"]
    command = [sys.executable, "-c", COMMAND, *arguments]
    for hostile.answer in (*READ, *(ANSWERS[name] for name in CHOSEN)):
        ran = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        *messages, most = ran.stderr.splitlines()
        print(f"{int(most) / MIB:.0f} MiB, {messages[-1:]}")
        assert ran.returncode == 1
        assert messages
        assert "Traceback" not in ran.stderr
        assert int(most) < CLIENT_BYTES


COMMAND: Final = """
import sys
from service_cli.main import main
from tests.hostile.memory import status_of
try:
    main()
finally:
    print(status_of("VmHWM"), file=sys.stderr)
"""
"""A command as it is called; its last line is the most that it took."""
HEADERS: Final = """
from service_common.chain.recent_blocks import RecentBlocks
from bounty_protocol.clock import SystemClock
cache = RecentBlocks(rpc, SystemClock())
asked += [lambda: cache.newest()]
"""
LOGS: Final = f"""
from service_indexer.chain import RpcChain
chain = RpcChain(rpc, {HUB!r}, quorum=2)
asked += [lambda: chain.logs(1, 1), lambda: chain.logs(1, 2000), lambda: chain.glimpse(1), lambda: chain.header(1)]
asked += [lambda: chain.open_bounties(range(1, 100), 1)]
"""
PRICES: Final = """
from service_indexer.web3_provider import make_web3
w3 = make_web3(rpc.batch)
asked += [lambda: w3.eth.get_transaction_receipt("0x" + "11" * 32)]
"""
PROGRAM: Final = """
import sys, {imports}
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from tests.hostile.memory import status_of
rpc = Rpc(sys.argv[1:])
asked = []
{ask}
for ask in asked:
    try:
        ask()
    except ChainUnavailable:
        pass
print(status_of("VmHWM"))
"""
PROCESSES: Final = {
    "indexer-worker": ("service_indexer.jobs, service_indexer.main", LOGS),
    "api-worker": ("service_api.jobs, service_api.main", HEADERS),
    "delivery": ("service_delivery.main", HEADERS),
    "settler": ("service_indexer.settling", PRICES),
}


@pytest.mark.parametrize("name", list(PROCESSES)[: size(1, len(PROCESSES))])
def test_worker_with_long_answers_is_below_its_limit(name: str, hostile: Wrong) -> None:
    imports, ask = PROCESSES[name]
    as_read: list[Filled | Numbered] = [OF_BLOCK] if ask == LOGS else []
    with wrong() as other:
        for answer in [*as_read, *(ANSWERS[each] for each in CHOSEN)][: size(1, 1 + len(ANSWERS))]:
            hostile.answer = other.answer = answer
            command = [sys.executable, "-c", PROGRAM.format(imports=imports, ask=ask), hostile.url, other.url]
            ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            assert ran.returncode == 0, ran.stderr
            most = int(ran.stdout.splitlines()[-1])  # after what was logged
            print(f"{name}: {most / MIB:.0f} MiB of {answer.piece[:20]!r}")
            assert most < memory_limits()[name]
