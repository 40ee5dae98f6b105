"""The journal: what a command has done so far, so that running it again continues.

A file per piece of work under the user's state directory, mode 0600, replaced atomically after each step;
two runs of the same work at once are refused. Never in it: a private key or a content identity.
"""

import fcntl
import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Generic, TypeVar

from bounty_protocol.shapes import to_json_as
from bounty_protocol.types import Address, BountyId, Bytes32, ChainId
from bounty_protocol.wire.reading import read

from service_cli.disk import open_regular, private_file, replace_private, state_directory
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import Waiting

R = TypeVar("R")
VERDICT_SIGNED, VERDICT_RECORDED = "verdict_transaction", "recorded"
"""The entries of a Verdict's journal for what was signed, and for what was recorded."""
OPENED, OPENED_WINNER = "opened", "winning"
"""The first names of what a Guardian opened: bounty, Solver, commitment; and of a Poster's work: bounty, commitment."""
ACCOUNT_SECONDS: Final = 120.0
"""How long a command waits while another one of its account is about to sign."""


@dataclass(frozen=True, slots=True)
class JournalEntry(Generic[R]):
    """One named entry of a journal: of a shape, or of a type that may annotate a field of one
    (``bounty_protocol.shapes``).
    """

    name: str
    kind: type[R]


class Journal:
    """One piece of work's folder: what it has done so far, and files that belong to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "journal.json"
        self._entries: dict[str, object] = self._load()

    def get(self, entry: JournalEntry[R]) -> R | None:
        """Return the noted value, or None; ``journal_unreadable`` for a value that this client does not write."""
        if entry.name not in self._entries:
            return None
        try:
            return read(entry.kind, self._entries[entry.name])
        except ValueError as error:
            raise self._unreadable() from error

    def has(self, *names: str) -> bool:
        """Return whether a value is noted under one of these names."""
        return any(name in self._entries for name in names)

    def note(self, entry: JournalEntry[R], value: R) -> None:
        """Note a value; it is on disk before this returns."""
        self._entries[entry.name] = to_json_as(entry.kind, value)
        self._save()

    def forget(self, *entries: JournalEntry[Any]) -> None:
        """Drop the values noted under these names."""
        for entry in entries:
            self._entries.pop(entry.name, None)
        self._save()

    def _unreadable(self) -> CommandRefused:
        problem = f"The journal {self._file} cannot be read."
        return CommandRefused("journal_unreadable", problem, next_action="Check the chain, then move the file away.")

    def _load(self) -> dict[str, object]:
        try:
            with open_regular(self._file) as file:
                found = json.loads(file.read())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self._unreadable()
        return found

    def _save(self) -> None:
        try:
            replace_private(self._file, json.dumps(self._entries))
        except OSError as error:
            problem = f"The journal {self._file} cannot be written."
            raise CommandFailed(
                "journal_not_written", problem, next_action="Free some space or check its permissions."
            ) from error


@dataclass(frozen=True, slots=True)
class HubRecords:
    """What this machine remembers of its work at one Hub: a folder for each piece, by the names of that."""

    chain_id: ChainId
    hub: Address

    @contextmanager
    def open(self, *names: str) -> Iterator[Journal]:
        """Open the journal of one piece of work, held by this process alone."""
        folder = self._folder(names)
        with private_file(folder, "lock") as lock:
            if not _is_taken(lock):
                message = "The same command is already running."
                raise CommandRefused("already_running", message, next_action="Wait for it, or stop it.")
            yield Journal(folder)

    def below(self, *names: str) -> list[tuple[str, ...]]:
        """List the names of every piece of work on this machine whose names begin with these."""
        first = self._folder(names)
        try:
            found = sorted(folder.name for folder in first.parent.iterdir() if folder.name.startswith(f"{first.name}-"))
        except OSError:
            return []
        return [tuple(name.split("-")) for name in found]

    def note_done(self, *names: str) -> None:
        """Remember on this machine only that something was done."""
        with private_file(self._folder(names), "done"):
            pass

    def was_done(self, *names: str) -> bool:
        """Return whether ``note_done`` noted it on this machine."""
        return (self._folder(names) / "done").exists()

    def was_opened(self, bounty_id: BountyId, solver: Address, commitment: Bytes32) -> bool:
        """Return whether a Guardian opened this Submission on this machine."""
        return self.was_done(OPENED, str(bounty_id), solver, commitment)

    def _folder(self, names: Sequence[str]) -> Path:
        plain = (re.sub(r"[^A-Za-z0-9]", "", name) for name in names)
        return state_directory() / f"{self.chain_id}-{self.hub}" / "-".join(plain)


@contextmanager
def account_lock(chain_id: ChainId, account: Address) -> Iterator[None]:
    """Lock the account while a nonce is chosen and first used, so that two commands do not choose the same one."""
    with private_file(state_directory() / "accounts", f"{chain_id}-{account}") as lock:
        ends = time.monotonic() + ACCOUNT_SECONDS
        with Waiting("waiting for another command of this account") as waiting:
            while not _is_taken(lock):  # the command that has it may be asking its person something
                if time.monotonic() > ends:
                    message = (
                        "Another command of this account is about to sign a transaction, or is waiting for your answer."
                    )
                    next_action = "Answer it or stop it, then run this command again."
                    raise CommandRefused("already_running", message, next_action=next_action)
                waiting.tick()
                time.sleep(0.1)
        yield


def _is_taken(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
