"""Sealing and opening: throughput and memory at 4 GiB, timelock against tlock-js, beacons in batches.

Files are on a memory-backed file system; the disk's figure is beside it with a plain copy as its reference.
SERVICE_BENCH_SEAL_BYTES makes the large file smaller on a small machine.
"""

import hashlib
import json
import os
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Final, TypeVar

import pyrage
from beacon import LocalBeacon, make_local_beacon
from beacon.server import BeaconServer
from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.artifact import SealedArtifact, open_artifact, seal_directory
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.capsule import seal_capsule
from bounty_protocol.crypto.timelock import timelock_decrypt, timelock_encrypt
from bounty_protocol.crypto.x25519 import Identity, recipient_text
from bounty_protocol.domain.envelope.binding import Binding
from bounty_protocol.types import Address, BountyId, ChainId
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from local_stack.toolbox import ensure_npm_package

from bench.figures import Figure, Report, median
from bench.watching.memory import resident
from tests.public_tools import debian_age

T = TypeVar("T")

TOP: Final = Path(__file__).parents[1]
LARGE: Final = int(os.environ.get("SERVICE_BENCH_SEAL_BYTES", str(4 * 2**30)))
SMALL: Final = 64 * 2**20
BINDING: Final = Binding(ChainId(31337), Address("0x" + "11" * 20), BountyId(1), Address("0x" + "22" * 20))
LIMITS: Final = ArchiveLimits(max_bytes=8 * 2**30)
ROUNDS: Final = 5
MEMORY: Final = Path("/dev/shm")  # noqa: S108  # the memory-backed file system, on purpose


def run(report: Report) -> None:
    """Measure the group."""
    _throughput(report, MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir()))
    _cpu(report, MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir()))
    _memory(report)
    _timelock(report)
    _recipients(report)


def _throughput(report: Report, base: Path) -> None:
    """Alternating rounds of ours and rage's, file to file."""
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        content, identity = content_of(folder, LARGE), Identity.generate()
        key = pyrage.x25519.Recipient.from_str(recipient_text(identity.public_key))
        opener = pyrage.x25519.Identity.from_str(identity.to_text())
        seal, unseal, rage, unrage = [], [], [], []
        sealed, theirs, opened = folder / "ours.age", folder / "theirs.age", folder / "opened"
        for _ in range(ROUNDS):
            seconds, artifact = _timed(
                lambda: seal_directory(content.parent, identity.public_key, BINDING, sealed, limits=LIMITS)
            )
            seal.append(LARGE / seconds / 1e6)
            rage.append(_rate(LARGE, lambda: pyrage.encrypt_file(str(content), str(theirs), [key])))
            unseal.append(_rate(LARGE, partial(open_sealed, sealed, identity, opened, artifact)))
            shutil.rmtree(opened)
            unrage.append(_rate(LARGE, lambda: pyrage.decrypt_file(str(theirs), str(folder / "plain"), [opener])))
            for path in (sealed, theirs, folder / "plain"):
                path.unlink()
    for name, ours, others in (("seal.throughput", seal, rage), ("seal.open_throughput", unseal, unrage)):
        value, reference = median(ours), median(others)
        report(Figure(name, value, "MB/s", "ratio >= 1.5", value >= 1.5 * reference, "pyrage file to file", reference))


def _cpu(report: Report, base: Path) -> None:
    """Processor time of everything: ours with the archive and all digests, Debian's age with one plain file."""
    with tempfile.TemporaryDirectory(dir=base) as name:
        folder = Path(name)
        try:
            debian_age(folder)
        except (OSError, subprocess.CalledProcessError) as error:
            for figure in ("seal.cpu", "seal.open_cpu"):
                report(Figure(figure, 0.0, "s", f"NOT RUN: no age from Debian here ({type(error).__name__})", None))
            return
        content, identity = content_of(folder, min(LARGE, 2**30)), Identity.generate()
        key, keys = recipient_text(identity.public_key), folder / "keys.txt"
        keys.write_text(identity.to_text() + "\n")
        ours, theirs, opened = folder / "ours.age", folder / "theirs.age", folder / "opened"
        seal, unseal, age, unage, parts = [], [], [], [], []
        for _ in range(ROUNDS):
            began = time.process_time()
            artifact = seal_directory(content.parent, identity.public_key, BINDING, ours, limits=LIMITS)
            seal.append(time.process_time() - began)
            age.append(_cpu_of(folder / "age", "--recipient", key, "--output", theirs, content))
            began = time.process_time()
            open_sealed(ours, identity, opened, artifact)
            unseal.append(time.process_time() - began)
            unage.append(_cpu_of(folder / "age", "--decrypt", "--identity", keys, "--output", folder / "plain", theirs))
            parts.append(_cpu_of_parts(content, folder / "parts"))
            shutil.rmtree(opened)
            for path in (ours, theirs, folder / "plain"):
                path.unlink()
    floor = median(parts)
    for figure, mine, other, most in (("seal.cpu", seal, age, 1.5), ("seal.open_cpu", unseal, unage, 1.25)):
        value, reference = median(mine), median(other)
        goal = f"ratio <= {most}, and <= 1.1 of reading, cipher, one digest and writing alone, {floor:.2f} s"
        ok = value <= most * reference and value <= 1.1 * floor
        report(Figure(figure, value, "s of 1 GiB", goal, ok, "Debian's age", reference))


def _cpu_of_parts(content: Path, target: Path) -> float:
    """Take the unavoidable steps, each by its library, with nothing between; return their seconds."""
    cipher, digest, block = ChaCha20Poly1305(os.urandom(32)), hashlib.sha256(), memoryview(bytearray(2**20))
    chunk = 2**16
    sealed = memoryview(bytearray(chunk + 16))
    began = time.process_time()
    with content.open("rb", buffering=0) as source, target.open("wb", buffering=0) as file:
        while size := source.readinto(block):
            for number, start in enumerate(range(0, size, chunk)):
                cipher.encrypt_into(number.to_bytes(12, "big"), block[start : start + chunk], None, sealed)
            digest.update(block[:size])
            file.write(block[:size])
    spent = time.process_time() - began
    target.unlink()
    return spent


def _cpu_of(*command: object) -> float:
    """Return seconds of processor time of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _memory(report: Report) -> None:
    """Peak resident memory above the start of a process that seals and opens, large beside small."""
    peaks = {size: _peak_of(size) for size in (SMALL, LARGE)}
    grown, ratio = peaks[LARGE][1] - peaks[LARGE][0], peaks[LARGE][1] / peaks[SMALL][1]
    report(
        Figure(
            "seal.rss", grown, "MB above start", "<= 64 MB above start, ratio <= 1.05", grown <= 64 and ratio <= 1.05,
            "peak at 64 MiB", peaks[SMALL][1] - peaks[SMALL][0],
        )
    )  # fmt: skip


def _peak_of(size: int) -> tuple[float, float]:
    """Resident memory in MB of a process after its imports, and at its peak."""
    with ProcessPoolExecutor(1, get_context("spawn")) as own:
        return own.submit(_seal_and_open, size).result()


def _seal_and_open(size: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder, identity = Path(name), Identity.generate()
        content = content_of(folder, size)
        Path("/proc/self/clear_refs").write_text("5")  # from here on the peak is counted again
        start = resident("VmRSS")
        sealed = seal_directory(content.parent, identity.public_key, BINDING, folder / "a.age", limits=LIMITS)
        open_sealed(folder / "a.age", identity, folder / "out", sealed)
        return start, resident("VmHWM")


def _timelock(report: Report) -> None:
    chain = _chain(100)
    signed, payload = Beacon(5, chain.signature(5)), b"x" * 74
    sealed = timelock_encrypt(payload, 5, chain.info)
    encrypt = median([_milliseconds(lambda: timelock_encrypt(payload, 5, chain.info)) for _ in range(50)])
    decrypt = median([_milliseconds(lambda: timelock_decrypt(sealed, signed, chain.info)) for _ in range(50)])
    server = BeaconServer(("127.0.0.1", 0), chain, SystemClock())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    modules = ensure_npm_package(TOP / "tests/protocol/crypto/tlock_js")
    script = str(TOP / "bench/javascript/tlock.cjs")
    info = chain.info
    done = subprocess.run(
        [shutil.which("node") or "node", script, server.url, info.chain_hash[2:], info.public_key, "5", "20"],
        env={**os.environ, "NODE_PATH": str(modules)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    server.shutdown()
    server.server_close()
    theirs = json.loads(done.stdout)
    for name, ours, other in (("encrypt", encrypt, theirs["encrypt"]), ("decrypt", decrypt, theirs["decrypt"])):
        rate, reference = 1000 / ours, 1000 / other
        report(
            Figure(f"seal.timelock_{name}", rate, "ops/s", "ratio >= 12", rate >= 12 * reference, "tlock-js", reference)
        )


def _recipients(report: Report) -> None:
    chain = _chain(100)
    keys = [Identity.generate().public_key for _ in range(15)]
    value = median(
        [_milliseconds(lambda: seal_capsule(Identity.generate(), BINDING, keys, 5, chain.info)) for _ in range(20)]
    )
    report(Figure("seal.recipients", value, "ms", "<= 50", value <= 50))


def content_of(folder: Path, size: int) -> Path:
    """Return a directory with one file of that size that does not compress to nothing."""
    directory = folder / "content"
    directory.mkdir()
    block = os.urandom(2**20)
    with (directory / "data.bin").open("wb") as file:
        for _ in range(size // len(block)):
            file.write(block)
    return directory / "data.bin"


def open_sealed(sealed: Path, identity: Identity, target: Path, artifact: SealedArtifact) -> None:
    open_artifact(
        sealed, identity, target, sha256=artifact.sha256, byte_length=artifact.byte_length,
        expected=BINDING, limits=LIMITS,
    )  # fmt: skip


def _chain(age: int) -> LocalBeacon:
    """Return a beacon of this run, that many seconds old."""
    seed = b"a seed of this benchmark, 32 byte"
    return make_local_beacon(seed, genesis_time=int(time.time()) - age, period_seconds=1)


def _rate(size: int, work: Callable[[], object]) -> float:
    """Return MB/s."""
    return size / _timed(work)[0] / 1e6


def _milliseconds(work: Callable[[], object]) -> float:
    return _timed(work)[0] * 1000


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result
