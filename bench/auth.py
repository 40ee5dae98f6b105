"""Request verification: header text to verified signer with the block cached, one core, against viem, and against a
loop that only recovers the keys.

Every request is another one (path, block, signature), so nothing is answered from a memory of the last.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from bounty_protocol.auth.header import format_header, parse_header
from bounty_protocol.auth.secp256k1 import BINDING
from bounty_protocol.auth.sign import RequestToSign
from bounty_protocol.auth.typed_data import typed_data
from bounty_protocol.auth.verify import CanonicalBlock, ReceivedRequest, verify_request
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import BlockNumber, Bytes32, to_bytes
from local_stack.toolbox import ensure_npm_package, find_npm

from bench.figures import Figure, Report, median
from tests.common.chain.paced import make, signed
from tests.protocol.auth.signing import (
    AUTHORITY,
    DOMAIN,
    HEAD,
    PLAIN_KEYS,
    Chain,
    block_hash,
    header_for,
    new_key,
    received,
)

T = TypeVar("T")

HERE: Final = Path(__file__).parent / "javascript"
ROUNDS, SECONDS, REQUESTS = 5, 2.0, 2_000


def run(report: Report) -> None:
    """Measure the group."""
    chain = _WarmChain()
    requests, approvals = _requests()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "approvals.json"
        file.write_text(json.dumps(approvals[:200]))
        reference = _Viem(file)
        _ours(requests, chain)
        reference.measure()
        rounds = [(_ours(requests, chain), reference.measure(), _recoveries(requests)) for _ in range(ROUNDS)]
        reference.stop()
    value, other, recoveries = map(median, zip(*rounds, strict=True))
    share = value / recoveries
    goal = f"ratio >= 28, and >= 0.72 of the {recoveries:,.0f}/s of a loop that only recovers; here {share:.2f}"
    ok = value / other >= 28 and share >= 0.72
    report(Figure("auth.verify", value, f"ops/s with {BINDING.name}", goal, ok, "viem verifyTypedData", other))
    _calls(report)


def _calls(report: Report) -> None:
    """RPC calls of one signed request after a pause, beside a chain of 0.2 s blocks: good, wrong, malformed."""
    service = make(block_time=0.2)
    chain, clock = service.chain, service.chain.clock
    for figure, account, goal in (("auth.calls", None, 2), ("auth.calls_of_another_account", new_key().address, 3)):
        clock.sleep(60.0)
        calls = service.calls_of(signed(chain, account=account))
        report(Figure(figure, calls, "calls", f"<= {goal}", calls <= goal))
    clock.sleep(60.0)
    wrong = signed(chain, account=new_key().address)
    before = len(chain.calls)
    for _ in range(200):
        with suppress(ServiceError):
            service.receive(wrong)
    calls = len(chain.calls) - before
    report(Figure("auth.calls_of_a_flood", calls, "calls of 200 requests a minute", "<= 60", calls <= 60))


class _WarmChain(Chain):
    """The blocks of the window in a dictionary, as a process keeps them."""

    def __init__(self) -> None:
        numbers = range(HEAD - 150, HEAD + 1)
        self._blocks = {BlockNumber(n): CanonicalBlock(block_hash(n), 2 * (HEAD - n)) for n in numbers}

    def block_at(self, number: BlockNumber, _named: Bytes32) -> CanonicalBlock | None:
        return self._blocks.get(number)


def _requests() -> tuple[list[ReceivedRequest], list[dict[str, object]]]:
    requests, approvals = [], []
    for number in range(REQUESTS):
        key = new_key()
        path = f"/api/bounties/{number + 1}/submissions/{block_hash(number)}/content"
        request = RequestToSign("GET", path, "", b"", AUTHORITY.audience)
        header = header_for(key, request, number=HEAD - number % 150)
        message = typed_data(DOMAIN, request.approval(header.block_number, header.block_hash))
        signature = "0x" + header.signature.hex()
        approvals.append({**message, "address": header.address, "signature": signature})
        requests.append(received(format_header(header), request))
    return requests, approvals


def _ours(requests: list[ReceivedRequest], chain: Chain) -> float:
    return _rate(requests, lambda request: verify_request(request, AUTHORITY, chain, PLAIN_KEYS))


def _recoveries(requests: list[ReceivedRequest]) -> float:
    """Keys a second from as many signatures, each over another digest; which one it is costs the same."""
    headers = [parse_header(request.authorization[0]) for request in requests]
    signed = [(to_bytes(header.block_hash), header.signature[:64], header.signature[64] - 27) for header in headers]
    return _rate(signed, lambda each: BINDING.recover(*each))


def _rate(inputs: Sequence[T], work: Callable[[T], object]) -> float:
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        for each in inputs:
            work(each)
        done += len(inputs)
    return done / (time.perf_counter() - began)


class _Viem:
    """A node process that verifies for some seconds for each request."""

    def __init__(self, file: Path) -> None:
        ensure_npm_package(HERE)
        npm = find_npm()
        program = npm[0] if len(npm) > 1 else shutil.which("node") or "node"
        self._process = subprocess.Popen(
            [program, HERE / "verify.mjs", file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"]},
        )

    def measure(self) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{SECONDS}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=10)
