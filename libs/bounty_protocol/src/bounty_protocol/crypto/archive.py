"""The rules of an artifact archive's contents, the same when it is made and when it is opened.

Every accepted name is relative, stays below its directory on every common file system, and differs from every other
name by more than letter case. Refused (``archive_refused``) are absolute names and ``..``, control characters and
backslashes, names that are not UTF-8 or newer than Unicode 14, collisions, and archives above the limits.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bounty_protocol.crypto.code_points import UNASSIGNED_RANGES
from bounty_protocol.crypto.failures import Failure, SealedDataError

BLOCK: Final = 512
MAX_NAME_BYTES: Final = 255
MAX_PATH_BYTES: Final = 1_024
MAX_DEPTH: Final = 32
Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in total."""

_UNWANTED: Final = re.compile("[\x00-\x1f\x7f-\x9f\\\\\u2028\u2029\ud800-\udfff]")
_UNASSIGNED: Final = re.compile(f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in UNASSIGNED_RANGES)}]")


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may hold: entries (directories included) and bytes of file content."""

    max_entries: int = 20_000
    max_bytes: int = 1024**3

    @property
    def max_headers(self) -> int:
        """Header blocks of every kind: a tar program writes two for an entry, and repeats a directory it adds to."""
        return 4 * self.max_entries


class ArchiveNames:
    """Accepts names one by one and remembers them, each directory once: an archive's time is linear in its names."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self._limits = limits
        self._keys: set[str] = set()
        self._directories: dict[str, str] = {}
        """What accepted directories fold to, by their exact paths."""

    def add(self, path: str, *, directory: bool) -> None:
        """Accept an entry's path (parts joined by ``/``) and its parents, or raise ``archive_refused``."""
        if path.count("/") >= MAX_DEPTH or len(path.encode("utf-8", "surrogateescape")) > MAX_PATH_BYTES:
            raise refused(f"a path that is too long or too deep: {shown(path)}")
        if directory:
            self._directory(path)
        else:
            self._remember(path, self._folded(path))
        if len(self._keys) > self._limits.max_entries:
            raise refused(f"more than {self._limits.max_entries} files and directories")

    def _directory(self, path: str) -> str:
        """Accept a directory and those above it; return its folded path."""
        if (known := self._directories.get(path)) is not None:
            return known
        key = self._folded(path)
        self._remember(path, key)
        self._directories[path] = key
        return key

    def _folded(self, path: str) -> str:
        """Fold a path, part by part: nothing composes with a ``/``."""
        above, slash, name = path.rpartition("/")
        check_name(name)
        return f"{self._directory(above)}/{folded(name)}" if slash else folded(name)

    def _remember(self, path: str, key: str) -> None:
        if key in self._keys:
            raise refused(f"two entries whose names are equal or differ only in letter case: {shown(path)}")
        self._keys.add(key)


def check_name(name: str) -> None:
    """Accept one part of a path, or raise ``archive_refused``."""
    if name in {"", ".", ".."}:
        raise refused("a path that is absolute, leads upwards or has empty parts")
    if _UNWANTED.search(name):
        raise refused(f"a name with control characters, a backslash or bytes that are not UTF-8: {shown(name)}")
    if not name.isascii() and _UNASSIGNED.search(name):
        raise refused(f"a name with characters that Unicode 14 does not have: {shown(name)}")
    if len(name.encode()) > MAX_NAME_BYTES:
        raise refused(f"a name longer than {MAX_NAME_BYTES} bytes: {shown(name)}")


def shown(path: str) -> str:
    """Escape and cut a path for a message."""
    return ascii(path)[:200]


def shown_size(size: int) -> str:
    """Format a size for a person: ``512 bytes``, ``1.5 MiB``, ``1 GiB``."""
    if size < 1024:
        return f"{size} bytes"
    value, units = size / 1024, ["TiB", "GiB", "MiB", "KiB"]
    while value >= 1023.95 and len(units) > 1:
        value /= 1024
        units.pop()
    return f"{value:.1f}".removesuffix(".0") + f" {units[-1]}"


def refused(what: str) -> SealedDataError:
    """Return the refusal of an archive's content."""
    return SealedDataError(Failure.ARCHIVE_REFUSED, f"the archive is refused: {what}")


def folded(path: str) -> str:
    """Fold a path as file systems do that ignore letter case and composition.

    For names that ``check_name`` accepts, the result is the same with every version of Unicode.
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
