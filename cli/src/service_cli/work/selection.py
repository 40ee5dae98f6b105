"""The selection of a directory's files to seal: all but those that ``.bountyignore`` leaves out.

The file is at the top of the directory; ``.gitignore`` files are not followed, since what git ignores may be the very
thing to be delivered. Everything left out is named before anything is sealed. The files' names and sizes are looked at
first, and nothing is opened before they are known to fit.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bounty_protocol.crypto.archive import ArchiveLimits
from bounty_protocol.crypto.archive_write import ArchiveEntry, list_directory

from service_cli.disk import Missing, Unusable, read_small
from service_cli.errors import CommandRefused
from service_cli.ui.output import emit
from service_cli.ui.text import printable
from service_cli.work.events import LeftOutPath

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILE: Final = ".bountyignore"
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


def select(directory: Path) -> Selection:
    """Return the files to seal; ``archive_refused`` if they are too large or may not be in an archive."""
    spec, left_out = _ignored(directory), list[str]()

    def keep(path: str, is_directory: bool) -> bool:
        shown = f"{path}/" if is_directory else path
        if path == IGNORE_FILE or (spec is not None and spec.check_file(shown).include):
            left_out.append(f"{path}/" if is_directory else path)
            return False
        return True

    entries = list_directory(directory, ArchiveLimits(), keep)
    return Selection(directory, entries, tuple(sorted(left_out)))


def report_left_out(selection: Selection) -> None:
    """Count and list the files that are left out."""
    for path in selection.left_out:
        emit(LeftOutPath(printable_path(path)))


def named(paths: Iterable[str]) -> str:
    """Return ``a, b, c``, or the first of many and how many more there are."""
    every = [printable_path(path) for path in paths]
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return f"{', '.join(every[:_NAMED])}{more}"


def printable_path(path: str) -> str:
    """Make a name that somebody else may have chosen printable."""
    return printable(path.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), 200)


def _ignored(directory: Path) -> "GitIgnoreSpec | None":
    """Return the patterns of the directory's ``.bountyignore``, in the syntax of git; None if there is none."""
    try:
        text, _ = read_small(directory / IGNORE_FILE)
        from pathspec import GitIgnoreSpec  # not needed by those who leave out nothing

        return GitIgnoreSpec.from_lines(text.splitlines())
    except Missing:
        return None
    except Unusable as error:
        message = f"{IGNORE_FILE} {error}."
    except ValueError:
        message = f"{IGNORE_FILE} has a line that is not a valid pattern."
    raise CommandRefused("ignore_file_unreadable", message, next_action="Fix or remove it. Nothing was sealed.")
