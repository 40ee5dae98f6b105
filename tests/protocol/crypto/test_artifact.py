"""Sealing a directory and opening it: whole or not at all."""

import errno
import hashlib
import os
import resource
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyrage
import pytest
from bounty_protocol.crypto import age
from bounty_protocol.crypto.archive_write import comment_header
from bounty_protocol.crypto.artifact import SealedArtifact, open_artifact, seal_directory
from bounty_protocol.crypto.failures import Failure, OutputFailed, SealedDataError
from bounty_protocol.crypto.x25519 import recipient_text
from bounty_protocol.types import Bytes32

from tests.protocol.crypto.trees import FILES, make, pack, tree
from tests.vectors.samples import BINDING, CONTENT, identity, seeded


def _digest(data: bytes) -> Bytes32:
    return Bytes32("0x" + hashlib.sha256(data).hexdigest())


def _seal(tmp_path: Path) -> tuple[Path, SealedArtifact]:
    target = tmp_path / "artifact.age"
    return target, seal_directory(make(tmp_path / "work"), CONTENT.public_key, BINDING, target)


def _refusal(
    tmp_path: Path, data: bytes, *, sha256: Bytes32 | None = None, length: int | None = None
) -> SealedDataError:
    """Open these bytes as what an envelope committed to; nothing may be left behind."""
    source = tmp_path / "given.age"
    source.write_bytes(data)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SealedDataError) as refusal:
        open_artifact(
            source,
            CONTENT,
            tmp_path / "new/place/out",
            sha256=sha256 or _digest(data),
            byte_length=len(data) if length is None else length,
            expected=BINDING,
        )
    assert sorted(tmp_path.rglob("*")) == before
    return refusal.value


def test_artifact__sealed_and_opened__the_same_files(tmp_path: Path) -> None:
    target, sealed = _seal(tmp_path)
    data = target.read_bytes()
    assert (sealed.sha256, sealed.byte_length, sealed.file_count) == (_digest(data), len(data), len(FILES))
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    out = tmp_path / "deep/er/out"
    opened = open_artifact(target, CONTENT, out, sha256=sealed.sha256, byte_length=sealed.byte_length, expected=BINDING)
    assert tree(out) == FILES
    assert opened.file_count == len(FILES)
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert sorted(path.name for path in tmp_path.iterdir()) == ["artifact.age", "deep", "work"]


def test_artifact_of_tar_and_rage_opens(tmp_path: Path) -> None:
    work = make(tmp_path / "work")
    command = ["tar", "--format=posix", f"--pax-option=comment={BINDING.text()}", "-cf", "-", "-C", str(work), "."]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    data = pyrage.encrypt(packed, [pyrage.x25519.Recipient.from_str(recipient_text(CONTENT.public_key))])
    (tmp_path / "a.age").write_bytes(data)
    open_artifact(
        tmp_path / "a.age", CONTENT, tmp_path / "out", sha256=_digest(data), byte_length=len(data), expected=BINDING
    )
    assert tree(tmp_path / "out") == FILES


def test_progress_grows_to_the_total(tmp_path: Path) -> None:
    work = make(tmp_path / "work", {"big": bytes(700_000)})
    steps: list[tuple[int, int]] = []
    sealed = seal_directory(
        work, CONTENT.public_key, BINDING, tmp_path / "a.age", progress=lambda *step: steps.append(step)
    )
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1] == len(pack(work, head=comment_header(BINDING.text())))
    steps.clear()
    open_artifact(
        tmp_path / "a.age",
        CONTENT,
        tmp_path / "out",
        sha256=sealed.sha256,
        byte_length=sealed.byte_length,
        expected=BINDING,
        progress=lambda *step: steps.append(step),
    )
    assert steps == sorted(steps)
    assert steps[-1] == (sealed.byte_length, sealed.byte_length)


def test_other_digest_or_length_is_a_mismatch(tmp_path: Path) -> None:
    target, _ = _seal(tmp_path)
    data = target.read_bytes()
    assert _refusal(tmp_path, data, sha256=_digest(b"x")).failure is Failure.CIPHERTEXT_MISMATCH
    assert _refusal(tmp_path, data, length=len(data) + 1).failure is Failure.CIPHERTEXT_MISMATCH
    assert _refusal(tmp_path, data[:-1], length=len(data)).failure is Failure.CIPHERTEXT_MISMATCH


def test_damage_on_the_way_is_a_bad_download(tmp_path: Path) -> None:
    target, sealed = _seal(tmp_path)
    for position in (0, 30, 200, len(target.read_bytes()) - 1):
        data = bytearray(target.read_bytes())
        data[position] ^= 1
        assert _refusal(tmp_path, bytes(data), sha256=sealed.sha256).failure is Failure.CIPHERTEXT_MISMATCH


def test_artifact_committed_broken_says_so(tmp_path: Path) -> None:
    target, _ = _seal(tmp_path)
    data = bytearray(target.read_bytes())
    assert _refusal(tmp_path, bytes(data[:-1])).failure is Failure.AGE_TAMPERED
    data[-1] ^= 1
    assert _refusal(tmp_path, bytes(data)).failure is Failure.AGE_TAMPERED
    assert _refusal(tmp_path, b"not age").failure is Failure.AGE_TRUNCATED
    archive = pack(tmp_path / "work")
    for plain, failure in ((b"no tar", Failure.ARCHIVE_MALFORMED), (archive[:-1], Failure.ARCHIVE_MALFORMED)):
        assert _refusal(tmp_path, age.encrypt_bytes(plain, [CONTENT.public_key])).failure is failure
    other = age.encrypt_bytes(archive, [identity("other").public_key])
    assert _refusal(tmp_path, other).failure is Failure.AGE_NO_MATCHING_KEY
    both = age.encrypt_bytes(archive, [CONTENT.public_key, identity("other").public_key])
    assert _refusal(tmp_path, both).failure is Failure.AGE_RECIPIENTS_REFUSED


def test_artifact_cut_after_its_archive_is_refused(tmp_path: Path) -> None:
    work = make(tmp_path / "work", {"a": b"x" * 63_000})
    archive = pack(work) + bytes(200_000)
    sealed = age.encrypt_bytes(archive, [CONTENT.public_key])
    cut = sealed[: len(sealed) - len(sealed) % (65_536 + 16)]
    assert _refusal(tmp_path, cut).failure in {Failure.AGE_TRUNCATED, Failure.AGE_TAMPERED}


def test_what_follows_an_archive_that_fills_its_chunks_is_read(tmp_path: Path) -> None:
    head = comment_header(BINDING.text())
    work = make(tmp_path / "work", {"a": bytes(65_536 - len(head) - 512 - 1024)})
    archive = pack(work, head=head)
    assert len(archive) == 65_536
    more = age.encrypt_bytes(archive + b"more", [CONTENT.public_key])
    assert _refusal(tmp_path, more).failure is Failure.ARCHIVE_MALFORMED
    zeros = bytearray(age.encrypt_bytes(archive + bytes(512), [CONTENT.public_key]))
    zeros[-1] ^= 1
    assert _refusal(tmp_path, bytes(zeros)).failure is Failure.AGE_TAMPERED


def test_output_that_exists_is_untouched(tmp_path: Path) -> None:
    target, sealed = _seal(tmp_path)
    full = make(tmp_path / "full", {"mine": b"keep"})
    link = tmp_path / "link"
    (tmp_path / "empty").mkdir()
    link.symlink_to(tmp_path / "empty")
    for place in (full, full / "mine", link):
        with pytest.raises(SealedDataError) as refusal:
            open_artifact(
                target, CONTENT, place, sha256=sealed.sha256, byte_length=sealed.byte_length, expected=BINDING
            )
        assert refusal.value.failure is Failure.OUTPUT_REFUSED
    assert tree(full) == {"mine": b"keep"}
    open_artifact(
        target, CONTENT, tmp_path / "empty", sha256=sealed.sha256, byte_length=sealed.byte_length, expected=BINDING
    )
    assert tree(tmp_path / "empty") == FILES


def test_digest_of_many_blocks_is_the_files(tmp_path: Path) -> None:
    work = make(tmp_path / "work", {"big": seeded("big")(2**20) * 9, "small": b"x"})
    target = tmp_path / "a.age"
    for _ in range(3):
        sealed = seal_directory(work, CONTENT.public_key, BINDING, target)
        data = target.read_bytes()
        assert (sealed.sha256, sealed.byte_length) == (_digest(data), len(data))
        target.unlink()
    target.write_bytes(data)
    open_artifact(target, CONTENT, tmp_path / "out", sha256=_digest(data), byte_length=len(data), expected=BINDING)
    assert tree(tmp_path / "out") == tree(work)


def test_seal__target_exists__refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "a.age").write_bytes(b"mine")
    with pytest.raises(SealedDataError):
        seal_directory(make(tmp_path / "work"), CONTENT.public_key, BINDING, tmp_path / "a.age")
    assert (tmp_path / "a.age").read_bytes() == b"mine"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_artifact__interrupted__nothing_left_behind(error: type[BaseException], tmp_path: Path) -> None:
    target, sealed = _seal(tmp_path)
    before = sorted(tmp_path.rglob("*"))

    def stop(done: int, total: int) -> None:
        if done > 400:
            raise error

    with pytest.raises(error):
        seal_directory(tmp_path / "work", CONTENT.public_key, BINDING, tmp_path / "x/y/b.age", progress=stop)
    with pytest.raises(error):
        open_artifact(
            target,
            CONTENT,
            tmp_path / "x/y/out",
            sha256=sealed.sha256,
            byte_length=sealed.byte_length,
            expected=BINDING,
            progress=stop,
        )
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("number", "said"), [(errno.ENOSPC, "disk is full"), (errno.EIO, "refused")])
def test_failing_disk_leaves_nothing(number: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, sealed = _seal(tmp_path)
    before = sorted(tmp_path.rglob("*"))

    def failing(descriptor: int, data: bytes) -> int:
        raise OSError(number, "library words")

    monkeypatch.setattr("bounty_protocol.crypto.archive_read.os.write", failing)
    with pytest.raises(SealedDataError) as refusal:
        open_artifact(
            target, CONTENT, tmp_path / "x/out", sha256=sealed.sha256, byte_length=sealed.byte_length, expected=BINDING
        )
    assert refusal.value.failure is Failure.OUTPUT_REFUSED
    assert isinstance(refusal.value, OutputFailed)
    assert said in refusal.value.message
    assert "library words" not in refusal.value.message
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("taken", [0, 1, 65_536, 100_000])
def test_short_writes_give_a_whole_file(taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, target = make(tmp_path / "work", {"large": seeded("large")(2**16) * 80 + b"the end"}), tmp_path / "a.age"
    sealed = seal_directory(work, CONTENT.public_key, BINDING, target)

    def short(descriptor: int, parts: list[memoryview]) -> int:
        return os.write(descriptor, b"".join(parts)[:taken])

    monkeypatch.setattr("bounty_protocol.crypto.archive_read.os.writev", short)
    open_artifact(
        target, CONTENT, tmp_path / "out", sha256=sealed.sha256, byte_length=sealed.byte_length, expected=BINDING
    )
    assert (tmp_path / "out/large").read_bytes() == (work / "large").read_bytes()


@pytest.mark.parametrize("broken", ["disk", "last chunk"])
def test_large_file_that_fails_leaves_nothing(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, target = make(tmp_path / "work", {"large": seeded("large")(2**20) * 9}), tmp_path / "a.age"
    sealed = seal_directory(work, CONTENT.public_key, BINDING, target)
    before, failure = sorted(tmp_path.rglob("*")), Failure.OUTPUT_REFUSED

    def failing(descriptor: int, parts: list[memoryview]) -> int:
        raise OSError(errno.ENOSPC, "library words")

    if broken == "disk":
        monkeypatch.setattr("bounty_protocol.crypto.archive_read.os.writev", failing)
    else:
        data = target.read_bytes()
        target.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        sealed, failure = replace(sealed, sha256=_digest(target.read_bytes())), Failure.AGE_TAMPERED
    with pytest.raises(SealedDataError) as refusal:
        open_artifact(
            target, CONTENT, tmp_path / "x/out", sha256=sealed.sha256, byte_length=sealed.byte_length, expected=BINDING
        )
    assert refusal.value.failure is failure
    assert sorted(tmp_path.rglob("*")) == before


def test_full_disk_leaves_nothing_sealed(tmp_path: Path) -> None:
    work = make(tmp_path / "work", {"big": bytes(300_000)})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    code = (
        "import resource, signal, sys; from pathlib import Path;"
        "from bounty_protocol.crypto.artifact import seal_directory;"
        "from bounty_protocol.crypto.failures import SealedDataError;"
        "from tests.vectors.samples import BINDING;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, {limits[1]}));\n"
        "try:\n seal_directory(Path(sys.argv[1]), sys.argv[2], BINDING, Path(sys.argv[3]))\n"
        "except SealedDataError as error:\n print(error.code)"
    )
    command = [sys.executable, "-c", code, str(work), CONTENT.public_key, str(tmp_path / "x/a.age")]
    # The night's measurement of branches would write to the same full disk.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("output_refused\n", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["work"]
