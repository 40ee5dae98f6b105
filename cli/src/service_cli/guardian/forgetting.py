"""Where opened work is on this machine, and ``guardian:forget``, which removes it once the bounty has ended.

Beside each opened Submission's mark in the state directory is a list of the files that this client wrote: the place
before anything is written there, its files before they get their names. So what a killed run left is known, too. Only
those files are removed, and only as they were written: what a Guardian changed or added is named and stays, and stays
known. A download that was interrupted is removed with them.
"""

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final

from bounty_protocol.crypto.output import partial_outputs, remove_if_dead
from bounty_protocol.errors import MAX_ISSUE_PATH, Issue
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId

from service_cli.chain.journal import JournalEntry, journals_below, open_journal, opened_name
from service_cli.chain.session import ChainClient
from service_cli.config.settings import Settings
from service_cli.downloads import kept_downloads
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.guardian.events import RemovedWork
from service_cli.shell.output import emit, remark, say, warn
from service_cli.shell.text import printable


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file as it was written: its absolute path, size and time of change."""

    path: Path
    size: int
    modified: int

    @staticmethod
    def of(path: Path, known_as: Path | None = None) -> "WrittenFile":
        status = path.lstat()
        return WrittenFile(known_as or path, status.st_size, status.st_mtime_ns)

    def is_unchanged(self) -> bool:
        try:
            return WrittenFile.of(self.path) == self
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Place:
    """A directory or file that this client wrote to, with every file as it was written there."""

    path: Path
    files: tuple[WrittenFile, ...]

    @staticmethod
    def begun(path: Path) -> "Place":
        """One that will be written to: under another name beside it first, which ``remove`` finds."""
        return Place(path.absolute(), ())

    @staticmethod
    def of(path: Path, known_as: Path | None = None) -> "Place":
        """The present state of a place, under its later name ``known_as``; nothing of what is not there yet."""
        here, name = path.absolute(), (known_as or path).absolute()
        if here.is_file():
            return Place(name, (WrittenFile.of(here, name),))
        files = (Path(top, one) for top, _, names in os.walk(here) for one in names)
        return Place(name, tuple(WrittenFile.of(one, name / one.relative_to(here)) for one in files))

    @staticmethod
    def of_file(file: BinaryIO, known_as: Path) -> "Place":
        """An open file that was written whole."""
        status, name = os.fstat(file.fileno()), known_as.absolute()
        return Place(name, (WrittenFile(name, status.st_size, status.st_mtime_ns),))

    def remove(self) -> "Removed":
        """Remove what this client wrote, finished or not."""
        removed, refused = 0, list[Path]()
        for left in partial_outputs(self.path):
            files = len(Place.of(left).files)
            if remove_if_dead(left):
                removed += files
            else:
                refused.append(left)
        for file in self.files:
            if file.is_unchanged():
                try:
                    file.path.unlink()
                    removed += 1
                except OSError:
                    refused.append(file.path)
        if self.path.is_dir() and not self.path.is_symlink():
            for top, _, _ in os.walk(self.path, topdown=False):
                with suppress(OSError):  # not empty
                    Path(top).rmdir()
        changed = (file.path for file in Place.of(self.path).files if file.path not in refused)
        return Removed(removed, tuple(changed), tuple(refused))


@dataclass(frozen=True, slots=True)
class Removed:
    """The result for one place."""

    count: int
    """Files that are gone."""
    changed: tuple[Path, ...]
    """Kept, since somebody changed or added it."""
    refused: tuple[Path, ...]
    """Not removable: the file system refused, or another run writes to it now."""


PLACES: Final = JournalEntry.of("places", tuple[Place, ...])
_SOLVER: Final = JournalEntry.of("solver", Address)
_COMMITMENT: Final = JournalEntry.of("submission_commitment", Bytes32)


@dataclass(frozen=True, slots=True)
class OpenedWork:
    """One Submission as a Guardian opened it."""

    chain_id: ChainId
    hub: Address
    bounty_id: BountyId
    solver: Address
    commitment: Bytes32

    def remember(self, place: Place) -> None:
        """Keep where its files are; that this cannot be kept is no failure of opening."""
        try:
            names = opened_name(str(self.bounty_id), self.solver, self.commitment)
            with open_journal(self.chain_id, self.hub, *names) as journal:
                others = tuple(one for one in journal.get(PLACES) or () if one.path != place.path)
                journal.note(_SOLVER, self.solver)
                journal.note(_COMMITMENT, self.commitment)
                journal.note(PLACES, (*others, place))
        except (CommandFailed, CommandRefused, OSError):
            warn(f"it could not be noted that {place.path} holds opened work: guardian:forget will not know of it")


def forget(settings: Settings, bounty_id: BountyId) -> None:
    """The command ``guardian:forget``."""
    chain = ChainClient.checked(settings)
    if chain.bounty(bounty_id).outcome is None:
        message = f"Bounty {bounty_id} has not ended: its work may still have to be judged or compared."
        raise CommandRefused(
            "bounty_open", message, next_action=f"Wait for its end: service-cli bounty:watch {bounty_id}."
        )
    found, refused = 0, list[Path]()
    for names in journals_below(chain.chain_id, chain.hub.address, "opened", str(bounty_id)):
        with open_journal(chain.chain_id, chain.hub.address, *names) as journal:
            solver, commitment = journal.get(_SOLVER), journal.get(_COMMITMENT)
            left = list[Place]()
            for place in journal.get(PLACES) or ():
                removed = place.remove()
                found += 1
                refused += removed.refused
                if removed.changed or removed.refused:
                    left.append(replace(place, files=tuple(one for one in place.files if one.path in removed.refused)))
                _report(bounty_id, (solver, commitment), place, removed)
            if left:
                journal.note(PLACES, tuple(left))
            else:
                journal.forget(PLACES)
    for part in kept_downloads():
        if (part.chain_id, part.hub, part.bounty_id) == (chain.chain_id, chain.hub.address, bounty_id):
            gone = part.remove()
            found += 1
            refused += [] if gone else [part.path]
            removed = Removed(int(gone), (), () if gone else (part.path,))
            _report(bounty_id, (part.solver, part.commitment), Place.begun(part.path), removed)
    if not found:
        say(f"nothing opened for bounty {bounty_id} is recorded here (older releases kept no record)")
    if refused:
        issues = [Issue(_end_of(path), "is still there") for path in refused[:50]]
        message = f"{len(refused)} files or directories of opened work could not be removed."
        next_action = "Wait for a guardian:open that is running, or check the directory's rights; then run it again."
        raise CommandFailed("opened_work_left", message, issues=issues, next_action=next_action)


def _end_of(path: Path) -> str:
    """As much as an issue names, from the end: the beginning is the place that was reported above it."""
    text = printable(path, 4_096)
    return text if len(text) <= MAX_ISSUE_PATH else f"…{text[1 - MAX_ISSUE_PATH :]}"


def _report(bounty_id: BountyId, pair: tuple[Address | None, Bytes32 | None], place: Place, removed: Removed) -> None:
    solver, commitment = pair
    left = tuple(printable(path, 300) for path in removed.changed)
    emit(RemovedWork(bounty_id, solver, commitment, str(place.path), removed.count, left))
    remark(f"removed {removed.count} files from {place.path}")
    if left:
        more = f" and {len(left) - 10} more" if len(left) > 10 else ""
        remark(f"kept, since somebody changed or added them: {', '.join(left[:10])}{more}", urgent=True)
