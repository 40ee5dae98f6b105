"""Objects on disk: whole or absent, each under its generation.

An object appears by one atomic rename after its last byte, a crash leaves at most a temporary file, the precondition is
checked again in the instant of the rename, and a reader keeps the bytes it opened.
"""

import base64
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from google_crc32c import extend

from gcs_twin.answers import ErrorAnswer, not_found, precondition_failed


@dataclass(frozen=True, slots=True)
class Stored:
    """One object's facts."""

    bucket: str
    name: str
    generation: int
    size: int
    content_type: str
    content_encoding: str
    cache_control: str
    created: str
    md5: str
    crc32c: str
    custom: dict[str, str]


@dataclass(frozen=True, slots=True)
class Declared:
    """The uploader's statements about an object."""

    content_type: str = "application/octet-stream"
    content_encoding: str = ""
    cache_control: str = ""
    custom: dict[str, str] | None = None


class Objects:
    """The objects below one directory."""

    def __init__(self, root: Path) -> None:
        self._data, self._facts, self._drafts = root / "data", root / "facts", root / "drafts"
        shutil.rmtree(self._drafts, ignore_errors=True)
        for path in (self._data, self._facts, self._drafts):
            path.mkdir(parents=True, exist_ok=True)
        self._lock = Lock()
        self._last = 0

    def find(self, bucket: str, name: str, generation: int | None = None) -> Stored:
        """Return the live object; ``ErrorAnswer`` 404 if there is none or it has another generation."""
        try:
            facts = Stored(**json.loads((self._facts / _key(bucket, name)).read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise not_found() from None
        if generation is not None and facts.generation != generation:
            raise not_found()
        return facts

    def open(self, facts: Stored) -> BinaryIO:
        """Return the bytes of a found object; ``ErrorAnswer`` 404 when it was replaced meanwhile."""
        try:
            return self._path(facts).open("rb")
        except FileNotFoundError:
            raise not_found() from None

    def create(
        self, bucket: str, name: str, chunks: Iterable[bytes], declared: Declared, *, if_generation: int | None
    ) -> Stored:
        """Store an object from its chunks; an exception from ``chunks`` leaves nothing behind."""
        self.check(bucket, name, if_generation)
        draft = self._drafts / f"{time.time_ns()}-{os.urandom(8).hex()}"
        try:
            size, md5, crc32c = _written(draft, chunks)
            with self._lock:
                self.check(bucket, name, if_generation)
                facts = Stored(
                    bucket=bucket,
                    name=name,
                    generation=self._next_generation(),
                    size=size,
                    content_type=declared.content_type,
                    content_encoding=declared.content_encoding,
                    cache_control=declared.cache_control,
                    created=time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
                    md5=md5,
                    crc32c=crc32c,
                    custom=declared.custom or {},
                )
                self._publish(draft, facts)
        finally:
            draft.unlink(missing_ok=True)
        return facts

    def delete(self, bucket: str, name: str, *, generation: int | None, if_generation: int | None) -> None:
        """Delete the live object where generation and precondition hold; ``ErrorAnswer`` otherwise."""
        with self._lock:
            facts = self.find(bucket, name, generation)
            self.check(bucket, name, if_generation)
            (self._facts / _key(bucket, name)).unlink()
            self._path(facts).unlink(missing_ok=True)

    def list(self, bucket: str, prefix: str) -> Iterator[Stored]:
        """Return the live objects of a bucket whose name starts with ``prefix``, by name."""
        known = []
        for path in self._facts.iterdir():
            try:
                known.append(Stored(**json.loads(path.read_text(encoding="utf-8"))))
            except FileNotFoundError:
                continue
        found = (facts for facts in known if facts.bucket == bucket and facts.name.startswith(prefix))
        return iter(sorted(found, key=lambda facts: facts.name))

    def check(self, bucket: str, name: str, if_generation: int | None) -> None:
        """``ErrorAnswer`` 412 unless the live generation is the given one; 0 means that there is no object."""
        if if_generation is not None and if_generation != self._live_generation(bucket, name):
            raise precondition_failed()

    def _live_generation(self, bucket: str, name: str) -> int:
        try:
            return self.find(bucket, name).generation
        except ErrorAnswer:
            return 0

    def _publish(self, draft: Path, facts: Stored) -> None:
        key = _key(facts.bucket, facts.name)
        replaced = self.find(facts.bucket, facts.name) if (self._facts / key).exists() else None
        draft.rename(self._path(facts))
        note = self._drafts / f"{key}.facts"
        note.write_text(json.dumps(asdict(facts)), encoding="utf-8")
        note.rename(self._facts / key)
        if replaced is not None:
            self._path(replaced).unlink(missing_ok=True)

    def _next_generation(self) -> int:
        self._last = max(self._last + 1, time.time_ns() // 1_000)
        return self._last

    def _path(self, facts: Stored) -> Path:
        return self._data / f"{_key(facts.bucket, facts.name)}.{facts.generation}"


def _written(draft: Path, chunks: Iterable[bytes]) -> tuple[int, str, str]:
    size, md5, crc32c = 0, hashlib.md5(usedforsecurity=False), 0
    with draft.open("xb") as file:
        for chunk in chunks:
            file.write(chunk)
            md5.update(chunk)
            crc32c = extend(crc32c, chunk)
            size += len(chunk)
    return size, base64.b64encode(md5.digest()).decode(), base64.b64encode(crc32c.to_bytes(4, "big")).decode()


def _key(bucket: str, name: str) -> str:
    return hashlib.sha256(f"{bucket}/{name}".encode()).hexdigest()
