"""Keys of this machine, kept out of what is sealed, published and sent.

Before anything is sealed, signed or sent, a directory or document
that holds a key of this run is refused with the file's name: every ``SERVICE_…_PRIVATE_KEY`` and keyring counts, of all
roles, from a variable, its ``_FILE``, ``.env``, or the keystore that this run has used. Files that only look
like secrets are found, too; a person decides on them. No key is ever printed or part of an exception.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Final

from bounty_protocol.readiness.key_forms import AGE_KEY

from service_cli.config.environment import Environment
from service_cli.config.likely_secrets import like_a_secret
from service_cli.disk import Unusable, read_small
from service_cli.errors import CommandRefused
from service_cli.ui.text import printable

_VARIABLE: Final = re.compile(r"SERVICE_[A-Z0-9_]*PRIVATE_KEYS?(?:_JSON)?(?:_FILE)?")
_SEALED: Final = re.compile(r"SERVICE_[A-Z0-9_]*_KEYSTORE(?:_PASSPHRASE_FILE)?")
"""A file that nobody else is to have, and whose content is no key."""
_HEX: Final = re.compile(r"(?<![0-9a-f])(?:0x)?([0-9a-f]{64})(?![0-9a-f])")
_AGE: Final = re.compile(f"{AGE_KEY.lower()}[0-9a-z]*")
_CHUNK: Final = 256 * 1024
_OVERLAP: Final = 127
"""The overlap of two chunks: no key is written with more than 128 characters."""


@dataclass(frozen=True, slots=True)
class LoadedKeys:
    """The texts to look for, in lower case, and the files they came from."""

    hexadecimal: tuple[bytes, ...] = field(repr=False)
    age: frozenset[bytes] = field(repr=False)
    files: frozenset[tuple[int, int]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hexadecimal or self.age or self.files)

    def inside(self, data: bytes | bytearray) -> bool:
        """Return whether one of the keys is anywhere in these bytes, in upper or lower case."""
        lower = data.lower()
        return any(lower.find(key) >= 0 for key in (*self.hexadecimal, *self.age))

    def inside_file(self, file: FileIO, progress: Callable[[int], None] = lambda _read: None) -> bool:
        """Return whether a file of any length holds one of the keys, in constant memory; the file may itself be a key
        file.
        """
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) in self.files:
            return True
        buffer = bytearray(_OVERLAP + _CHUNK)
        view, read = memoryview(buffer), 0
        while size := file.readinto(view[_OVERLAP:]):
            if self.inside(buffer if size == _CHUNK else bytes(view[: _OVERLAP + size])):
                return True
            view[:_OVERLAP] = view[size : size + _OVERLAP]
            read += size
            progress(read)
        return False


def loaded_keys(environment: Environment, *, open_files: bool = True) -> LoadedKeys:
    """Load every key of this environment; without ``open_files`` identify a file that holds one without reading it."""
    texts = list(environment.read.values())
    files: set[tuple[int, int]] = set()
    for name, value in (*environment.exported.items(), *environment.fallback.items()):
        if not value or not (_VARIABLE.fullmatch(name) or _SEALED.fullmatch(name)):
            continue
        if _SEALED.fullmatch(name):
            files |= _identity(value)
        elif name.endswith("_FILE"):
            files |= _identity(value)
            texts.extend(() if value in environment.read or not open_files else _text(value))
        else:
            texts.append(value)
    lower = [text.lower() for text in texts]
    hexadecimal = {key for text in lower for key in _HEX.findall(text)}
    age = {key.encode() for text in lower for key in _AGE.findall(text)}
    return LoadedKeys(tuple(sorted(key.encode() for key in hexadecimal)), frozenset(age), frozenset(files))


def _identity(path: str) -> set[tuple[int, int]]:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return set()
    return {(status.st_dev, status.st_ino)}


def _text(path: str) -> list[str]:
    try:
        return [read_small(Path(path))[0]]
    except Unusable:
        return []


_MOVED: Final = "If the key was shared before, move its funds and make a new key."


def secrets_among(
    environment: Environment,
    directory: Path,
    entries: Mapping[str, int],
    *,
    open_key_files: bool,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> tuple[str, ...]:
    """List those of these entries (path in the directory, with size) that look as if they should not be shared.

    ``secret_in_artifact`` if one holds a key of this run, whatever its name.
    """
    keys, total, done = loaded_keys(environment, open_files=open_key_files), sum(entries.values()), 0
    suspicious: dict[str, None] = {}
    for name, size in entries.items():
        if _holds(keys, directory / name, name, partial(_report, progress, done, total)):
            shown = "A file name in it" if keys.inside(os.fsencode(name)) else printable(name, 200)
            message = f"{shown} holds a private key of this run: everyone who opens your work would have it."
            next_action = f"Remove it from the directory. Nothing was sealed. {_MOVED}"
            raise CommandRefused("secret_in_artifact", message, next_action=next_action)
        if (found := like_a_secret(directory, name)) is not None:
            suspicious[found] = None
        done += size
        progress(done, total)
    return tuple(suspicious)


def _report(progress: Callable[[int, int], None], before: int, total: int, read: int) -> None:
    progress(before + read, total)


def check_document(environment: Environment, data: bytes, what: str) -> None:
    """Refuse a public text that holds a key of this run, or any age identity."""
    if _AGE.search(data.lower().decode("latin-1")) or loaded_keys(environment).inside(data):
        message = f"{what} holds a private key: everyone could read it."
        raise CommandRefused(
            "secret_in_document", message, next_action=f"Remove it. Nothing was signed or sent. {_MOVED}"
        )


def _holds(keys: LoadedKeys, path: Path, name: str, progress: Callable[[int], None]) -> bool:
    if not keys:
        return False
    if keys.inside(os.fsencode(name)):
        return True
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb", buffering=0) as file:
            return keys.inside_file(file, progress)
    except OSError:  # sealing it reports why
        return False
