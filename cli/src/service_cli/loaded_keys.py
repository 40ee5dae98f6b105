"""The keys this run can reach, to keep them out of what it hands over.

Promises: every ``SERVICE_…_PRIVATE_KEY`` and keyring counts, of all roles, exported or in ``.env``, as a value or in
the file that a variable names; none is printed, returned as text or part of an exception. What is malformed or cannot
be read is left out: the command that needs it says so.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Final

from service_cli.environment import Environment
from service_cli.key_files import Unusable, read_small

_VARIABLE: Final = re.compile(r"SERVICE_[A-Z0-9_]*PRIVATE_KEYS?(?:_JSON)?(?P<file>_FILE)?")
_HEX: Final = re.compile(r"(?<![0-9a-f])(?:0x)?([0-9a-f]{64})(?![0-9a-f])")
_AGE: Final = re.compile(r"age-secret-key-1[0-9a-z]{16,}")
_AGE_PREFIX: Final = b"age-secret-key-1"
_CHUNK: Final = 256 * 1024
_OVERLAP: Final = 127
"""What is carried to the next chunk: no key is written with more than 128 characters."""

_STRIDE: Final = 10
_KINDS: Final = bytes(ord("h") if chr(byte) in "0123456789abcdefABCDEF" else ord(".") for byte in range(256))
_RUN: Final = b"h" * (64 // _STRIDE)
"""64 hexadecimal digits show in every tenth byte as six in a row: most data is passed over by that, for a tenth of the
work."""


@dataclass(frozen=True, slots=True)
class LoadedKeys:
    """What to look for, in lower case, and the files it came from."""

    hexadecimal: tuple[bytes, ...] = field(repr=False)
    age: frozenset[bytes] = field(repr=False)
    files: frozenset[tuple[int, int]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hexadecimal or self.age or self.files)

    def inside(self, data: bytes | bytearray) -> bool:
        """Whether one of the keys stands in these bytes, in upper or lower case, wherever in them."""
        run = bool(self.hexadecimal) and data[::_STRIDE].translate(_KINDS).find(_RUN) >= 0
        if not run and not self.age:
            return False
        lower = data.lower()
        if run and any(lower.find(key) >= 0 for key in self.hexadecimal):
            return True
        return bool(self.age) and lower.find(_AGE_PREFIX) >= 0 and any(lower.find(key) >= 0 for key in self.age)

    def inside_file(self, file: FileIO) -> bool:
        """The same for a file of any length, in constant memory; the file itself may be one that holds a key."""
        status = os.fstat(file.fileno())
        if (status.st_dev, status.st_ino) in self.files:
            return True
        buffer = bytearray(_OVERLAP + _CHUNK)
        view = memoryview(buffer)
        while size := file.readinto(view[_OVERLAP:]):
            if self.inside(buffer if size == _CHUNK else bytes(view[: _OVERLAP + size])):
                return True
            view[:_OVERLAP] = view[size : size + _OVERLAP]
        return False


def loaded_keys(environment: Environment, *, open_files: bool = True) -> LoadedKeys:
    """Every key of this environment; without ``open_files`` a file that holds one is known by what it is, unread."""
    texts: list[str] = []
    files: set[tuple[int, int]] = set()
    for name, value in _variables((environment.exported, environment.fallback)):
        if name.endswith("_FILE"):
            files |= _identity(value)
            texts.extend([environment.read[value]] if value in environment.read else _text(value) if open_files else ())
        else:
            texts.append(value)
    lower = [text.lower() for text in texts]
    hexadecimal = {key for text in lower for key in _HEX.findall(text)}
    age = {key.encode() for text in lower for key in _AGE.findall(text)}
    return LoadedKeys(tuple(sorted(key.encode() for key in hexadecimal)), frozenset(age), frozenset(files))


def holds_age_key(data: bytes) -> bool:
    """Whether anybody's age identity stands in these bytes."""
    return _AGE.search(data.lower().decode("latin-1")) is not None


def _variables(levels: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    for level in levels:
        for name, value in level.items():
            if value and _VARIABLE.fullmatch(name):
                yield name, value


def _identity(path: str) -> set[tuple[int, int]]:
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return set()
    return {(status.st_dev, status.st_ino)}


def _text(path: str) -> list[str]:
    try:
        return [read_small(Path(path))[0]]
    except (OSError, Unusable):
        return []
