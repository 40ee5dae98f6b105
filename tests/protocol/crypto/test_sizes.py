"""Directories of any size and number of files: sealed and opened whole, in memory that does not grow, or refused.

Small by default; a campaign (``SERVICE_CAMPAIGN=full``) has 100,000 files, a file above 4 GiB, and every bit of a
capsule.
"""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.artifact import open_artifact, seal_directory
from bounty_protocol.crypto.beacon import Beacon
from bounty_protocol.crypto.capsule import open_capsule, seal_capsule
from bounty_protocol.crypto.failures import Failure, SealedDataError
from bounty_protocol.crypto.x25519 import Identity

from tests.campaign import FULL, size
from tests.protocol.crypto.test_capsule import POLICY
from tests.vectors.samples import BEACON, BINDING, CONTENT, GUARDIAN_IDENTITIES, ROSTER, seeded

FILES = size(300, 100_000)
LENGTH = size(5 * 2**20 + 1, 4 * 2**30 + 1)
GROWTH_MIB = 64


def many_files(folder: Path, count: int) -> Path:
    for number in range(count):
        below = folder / f"{number // 1_000}"
        if number % 1_000 == 0:
            below.mkdir(parents=True)
        (below / f"{number}").write_bytes(b"x")
    return folder


def test_too_many_files_are_refused_both_ways(tmp_path: Path) -> None:
    work = many_files(tmp_path / "work", FILES)
    enough = ArchiveLimits(max_entries=FILES + 100)
    narrow = ArchiveLimits() if FULL else ArchiveLimits(max_entries=FILES - 1)
    with pytest.raises(SealedDataError) as refusal:
        seal_directory(work, CONTENT.public_key, BINDING, tmp_path / "no.age", limits=narrow)
    assert refusal.value.failure is Failure.ARCHIVE_REFUSED
    sealed = seal_directory(work, CONTENT.public_key, BINDING, tmp_path / "a.age", limits=enough)
    opening = partial(open_artifact, sha256=sealed.sha256, byte_length=sealed.byte_length, expected=BINDING)
    with pytest.raises(SealedDataError) as refusal:
        opening(tmp_path / "a.age", CONTENT, tmp_path / "out", limits=narrow)
    assert refusal.value.failure is Failure.ARCHIVE_REFUSED
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.age", "work"]
    opened = opening(tmp_path / "a.age", CONTENT, tmp_path / "out", limits=enough)
    assert opened.file_count == FILES == sealed.file_count


PROGRAM = """
import sys
from pathlib import Path
from bench.watching.memory import resident
from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.artifact import open_artifact, seal_directory
from bounty_protocol.crypto.x25519 import Identity
from tests.vectors.samples import BINDING
folder, identity, limits = Path(sys.argv[1]), Identity.generate(), ArchiveLimits(max_bytes=8 * 2**30)
start = resident("VmRSS")
sealed = seal_directory(folder / "work", identity.public_key, BINDING, folder / "a.age", limits=limits)
opened = open_artifact(
    folder / "a.age", identity, folder / "out",
    sha256=sealed.sha256, byte_length=sealed.byte_length, expected=BINDING, limits=limits,
)
print(opened.byte_length, int(resident() - start))
"""


def test_large_file_takes_bounded_memory(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with (work / "large").open("wb") as file:
        file.truncate(LENGTH)
        file.seek(LENGTH - 1)
        file.write(b"\x01")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=True, timeout=600
    )
    length, grown = map(int, done.stdout.split())
    assert (length, (tmp_path / "out" / "large").stat().st_size) == (LENGTH, LENGTH)
    with (tmp_path / "out" / "large").open("rb") as opened:
        opened.seek(LENGTH - 1)
        assert opened.read() == b"\x01"
    assert grown <= GROWTH_MIB


def test_capsule__every_bit_flipped__never_opens() -> None:
    info = BEACON.info
    sealed = seal_capsule(CONTENT, BINDING, ROSTER.encryption_public_keys, POLICY.round, info, seeded("every bit"))
    signed = Beacon(POLICY.round, BEACON.signature(POLICY.round))

    def opened(capsule: bytes) -> Identity:
        return open_capsule(
            capsule,
            beacon=signed,
            info=info,
            keyring=[GUARDIAN_IDENTITIES[1]],
            roster_size=len(ROSTER.members),
            content_public_key=CONTENT.public_key,
            expected=BINDING,
        )

    assert opened(sealed) == CONTENT
    for bit in range(0, len(sealed) * 8, size(101, 1)):
        altered = bytearray(sealed)
        altered[bit // 8] ^= 1 << bit % 8
        with pytest.raises(SealedDataError):
            opened(bytes(altered))
