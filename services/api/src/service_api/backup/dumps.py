"""A dump's way to the bucket and back.

It is encrypted before it is kept anywhere. Every encrypted dump that the bucket does not have yet is copied there, so
that the next night makes up for one on which the bucket was away. Each step is done once or not at all, and a job that
was killed is run again. An object is created once and never replaced.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

import requests
from bounty_protocol.clock import Clock
from bounty_protocol.crypto import age
from bounty_protocol.crypto.age_header import read_header
from bounty_protocol.crypto.x25519 import Identity
from bounty_protocol.types import Bytes32, UnixSeconds, bytes32

from service_api.storage.port import ObjectStore

KEPT: Final = 7
"""Encrypted dumps that stay in the folder."""
PREFIX: Final = "backups/"
_DUMP: Final = re.compile(r"\d{8}T\d{6}Z\.dump")
_SEALED: Final = re.compile(r"\d{8}T\d{6}Z\.dump\.age")
_BLOCK: Final = 1024 * 1024
_URL_SECONDS: Final = 3600
_ANSWER_SECONDS: Final = (10.0, 120.0)
Say = Callable[[str], None]


class BackupFailed(Exception):
    """The failure in words for the operator; never with a signed address or a key in it."""


def store_dumps(made: Path, kept: Path, recipients: Sequence[Bytes32], store: ObjectStore, say: Say) -> None:
    """Encrypt each dump of ``made`` into ``kept``, delete it, and copy to the bucket what it does not have.

    ``kept`` holds the newest ``KEPT`` afterwards. Raises ``BackupFailed``, once all is copied that can be, or
    ``ServiceError`` where the bucket is away; what is kept stays.
    """
    for part in kept.glob("*.part"):
        part.unlink()  # of a job that was killed
    for dump in sorted(each for each in made.iterdir() if _DUMP.fullmatch(each.name)):
        sealed = kept / f"{dump.name}.age"
        if not sealed.exists():
            _seal(dump, sealed, recipients)
        dump.unlink()
        say(f"encrypted {dump.name}")
    _prune(kept)
    copied = {info.locator: info.byte_length for info in store.list(PREFIX)}
    others = list[str]()
    for sealed in _sealed(kept):
        locator, size = PREFIX + sealed.name, sealed.stat().st_size
        if locator not in copied:
            _copy(sealed, locator, store)
            say(f"copied {sealed.name}: {size} bytes, sha256 {_digest(sealed)[2:]}")
        elif copied[locator] != size:
            others.append(sealed.name)
    if others:
        raise BackupFailed(f"the bucket holds another {', '.join(others)}: find out who wrote it, and keep both")
    if not any(_sealed(kept)):
        raise BackupFailed("there is no dump to store: look at the log of the dump itself")


def fetch_dump(
    store: ObjectStore, target: Path, identities: Sequence[Identity], say: Say, *, name: str | None = None
) -> Path:
    """Fetch a dump of the bucket, the newest by default, decrypt it into ``target`` and return its path.

    Raises ``BackupFailed`` where there is none of that name, ``SealedDataError`` where it does not open or was altered,
    and ``ServiceError`` where the bucket is away. A dump that is not whole is never under its name.
    """
    found = {info.locator.removeprefix(PREFIX): info for info in store.list(PREFIX)}
    chosen = name or max((each for each in found if _SEALED.fullmatch(each)), default=None)
    if chosen is None or chosen not in found or not _SEALED.fullmatch(chosen):
        raise BackupFailed(f"the bucket has no dump {name}" if name else "the bucket has no dump")
    sealed = target / chosen
    with _whole(sealed) as file:
        for chunk in store.read(found[chosen]):
            file.write(chunk)
    say(f"fetched {chosen}: {sealed.stat().st_size} bytes, sha256 {_digest(sealed)[2:]}")
    dump = open_dump(sealed, target, identities)
    sealed.unlink()
    return dump


def open_dump(sealed: Path, target: Path, identities: Sequence[Identity]) -> Path:
    """Decrypt one encrypted dump into ``target``; as ``fetch_dump`` where it does not open."""
    if not _SEALED.fullmatch(sealed.name) or not sealed.is_file():
        raise BackupFailed(f"there is no encrypted dump {sealed.name}")
    dump = target / sealed.name.removesuffix(".age")
    with sealed.open("rb") as source:
        stanzas = sum(not each.is_grease for each in read_header(source).stanzas)
        source.seek(0)
        with _whole(dump) as file:
            for chunk in age.decrypt(source, identities, recipients=stanzas):
                file.write(chunk)
    return dump


def check_age(dump: Path, clock: Clock, *, hours: int) -> None:
    """Raise ``BackupFailed`` where a dump is ``hours`` old, so that too much would be lost, or of the future."""
    made = UnixSeconds(int(datetime.strptime(dump.name, "%Y%m%dT%H%M%SZ.dump").replace(tzinfo=UTC).timestamp()))
    age_hours = (clock.now() - made) // 3600
    if age_hours >= hours:
        raise BackupFailed(f"the newest dump is {age_hours} hours old: look why none came after it")
    if age_hours < -1:
        raise BackupFailed(f"{dump.name} is of the future: find out who wrote it")


def _seal(dump: Path, sealed: Path, recipients: Sequence[Bytes32]) -> None:
    with dump.open("rb") as source, _whole(sealed) as file:
        age.encrypt(_blocks(source), file, recipients)


def _copy(sealed: Path, locator: str, store: ObjectStore) -> None:
    size = sealed.stat().st_size
    target = store.sign_upload(locator, sha256=_digest(sealed), byte_length=size, lifetime=_URL_SECONDS)
    try:
        with sealed.open("rb") as body:
            answer = requests.put(
                target.url, data=body, headers=dict(target.headers), timeout=_ANSWER_SECONDS, allow_redirects=False
            )
    except requests.RequestException as error:  # its text holds the signed address
        raise BackupFailed(f"{sealed.name} was not copied: {type(error).__name__}; run the job again") from None
    if answer.status_code != requests.codes.ok:
        raise BackupFailed(f"{sealed.name} was not copied: the bucket answered {answer.status_code}")
    stored = store.stat(locator)
    if stored is None or stored.byte_length != size:
        raise BackupFailed(f"{sealed.name} was copied, and is not in the bucket as it was sent")


def _prune(kept: Path) -> None:
    """Leave the newest."""
    for old in _sealed(kept)[:-KEPT]:
        old.unlink()


def _sealed(kept: Path) -> list[Path]:
    return sorted(each for each in kept.iterdir() if _SEALED.fullmatch(each.name))


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """A private file that has its name only once everything is written and on the disk."""
    part = path.with_name(f"{path.name}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _blocks(source: BinaryIO) -> Iterator[bytes]:
    while block := source.read(_BLOCK):
        yield block


def _digest(path: Path) -> Bytes32:
    with path.open("rb") as file:
        return bytes32(hashlib.file_digest(file, "sha256").digest())
