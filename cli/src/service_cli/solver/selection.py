"""The selection of a directory's files to seal: all but those that ignore files leave out.

``.bountyignore`` at the top of the directory is always followed; the ``.gitignore`` files of a work tree only when that
is requested, since what git ignores may be the very thing to be delivered. Everything left out is named before anything
is sealed. The files' names and sizes are looked at first, and nothing is opened before they are known to fit.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bounty_protocol.crypto.archive import ArchiveLimits, shown_size
from bounty_protocol.crypto.archive_write import ArchiveEntry, list_directory

from service_cli.config.small_files import Unusable, read_small
from service_cli.errors import CommandRefused
from service_cli.shell.output import emit, remark
from service_cli.shell.text import printable
from service_cli.solver.events import LeftOutPath, SealableFile

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE: Final = ".bountyignore"
_GIT_IGNORE_FILE: Final = ".gitignore"
_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class Selection:
    """The files and directories that are sealed, in archive order, and the names of those that are not."""

    directory: Path
    entries: tuple[ArchiveEntry, ...]
    left_out: tuple[str, ...]
    """Paths below the directory; one that ends with a slash is a directory with everything in it."""

    @property
    def files(self) -> tuple[ArchiveEntry, ...]:
        return tuple(entry for entry in self.entries if not entry.directory)

    @property
    def byte_length(self) -> int:
        """Of all files."""
        return sum(entry.size for entry in self.entries)


def select(directory: Path, *, use_gitignore: bool = False) -> Selection:
    """The files that are sealed; ``archive_refused`` where that is too much, or may not be in an archive."""
    ignoring, left_out = _Ignoring(directory, use_gitignore=use_gitignore), []

    def keep(path: str, is_directory: bool) -> bool:
        if ignoring.leaves_out(path, is_directory):
            left_out.append(f"{path}/" if is_directory else path)
            return False
        return True

    entries = list_directory(directory, ArchiveLimits(), keep)
    return Selection(directory, entries, tuple(sorted(left_out)))


def report_left_out(selection: Selection) -> None:
    """Count and list what is not sealed."""
    for path in selection.left_out:
        emit(LeftOutPath(printable_path(path)))
    if selection.left_out:
        remark(f"left out: {len(selection.left_out)}: {named(selection.left_out)}")


def report_files(selection: Selection) -> None:
    """List what is sealed, with sizes."""
    files = selection.files
    for entry in files:
        emit(SealableFile(entry.path, entry.size))
    remark(f"{_counted(len(files), 'file')}, {shown_size(selection.byte_length)}:")
    for entry in files[:_NAMED]:
        remark(f"  {printable(entry.path, 200)}  {shown_size(entry.size)}")
    if len(files) > _NAMED:
        remark(f"  and {len(files) - _NAMED} more")


def summary(selection: Selection) -> str:
    """Count, size and names of what is sealed, in one line."""
    files = selection.files
    return f"{_counted(len(files), 'file')}, {shown_size(selection.byte_length)} ({named(one.path for one in files)})"


def named(paths: Iterable[str]) -> str:
    """``a, b, c``, or the first of many and how many more there are."""
    every = [printable_path(path) for path in paths]
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return f"{', '.join(every[:_NAMED])}{more}"


def printable_path(path: str) -> str:
    """A name that somebody else may have chosen."""
    return printable(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), 200)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


@dataclass(slots=True)
class _Ignoring:
    """The ignore files of one directory, each read when something beside or below it is looked at.

    As git reads them: the last line that matches decides, a deeper file over one above it, and nothing below a
    directory that is left out can be taken in again. ``.bountyignore`` decides over all of them.
    """

    directory: Path
    use_gitignore: bool
    _specs: "dict[str, GitIgnoreSpec | None]" = field(default_factory=dict)

    def leaves_out(self, path: str, is_directory: bool) -> bool:
        if path == IGNORE_FILE or (self.use_gitignore and path == ".git"):
            return True
        found = self._decided(IGNORE_FILE, path, is_directory)
        for folder in _folders_of(path) if self.use_gitignore and found is None else ():
            deeper = self._decided(f"{folder}{_GIT_IGNORE_FILE}", path.removeprefix(folder), is_directory)
            found = found if deeper is None else deeper
        return bool(found)

    def _decided(self, file: str, path: str, is_directory: bool) -> bool | None:
        spec = self._spec(file)
        return None if spec is None else spec.check_file(f"{path}/" if is_directory else path).include

    def _spec(self, file: str) -> "GitIgnoreSpec | None":
        if file not in self._specs:
            self._specs[file] = self._read(file)
        return self._specs[file]

    def _read(self, file: str) -> "GitIgnoreSpec | None":
        try:
            text, _ = read_small(self.directory / file)
            from pathspec import GitIgnoreSpec  # not needed by those who leave out nothing

            return GitIgnoreSpec.from_lines(text.splitlines())
        except FileNotFoundError:
            return None
        except Unusable as error:
            message = f"{printable_path(file)} {error}."
        except ValueError:
            message = f"{printable_path(file)} has a line that is no pattern of an ignore file."
        raise CommandRefused("ignore_file_unreadable", message, next_action="Fix or remove it. Nothing was sealed.")


def _folders_of(path: str) -> Iterator[str]:
    """The directories above a path, the top one first: ``""``, ``a/``, ``a/b/``."""
    yield ""
    for at, character in enumerate(path):
        if character == os.sep:
            yield path[: at + 1]
