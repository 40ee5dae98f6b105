"""The journal: what a command has done so far, so that running it again continues.

Promises: a file per piece of work under the user's state directory, mode 0600, replaced atomically after each step;
two runs of the same work at once are refused. Never in it: a private key or a content identity.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from service_common.types import Address, ChainId

from service_cli.errors import Failed, Refused


class Journal:
    """One piece of work's folder: its steps, and files that belong to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "journal.json"
        self._steps: dict[str, object] = self._load()

    def get(self, step: str) -> object:
        """What a step noted, or None."""
        return self._steps.get(step)

    def text(self, step: str) -> str | None:
        """What a step noted, when it is text."""
        value = self._steps.get(step)
        return value if isinstance(value, str) else None

    def mapping(self, step: str) -> dict[str, object] | None:
        """What a step noted, when it is an object."""
        value = self._steps.get(step)
        return value if isinstance(value, dict) else None

    def note(self, step: str, value: object) -> None:
        """Keep a step's result; on disk before this returns."""
        self._steps[step] = value
        self._save()

    def forget(self, *steps: str) -> None:
        """Drop steps that turned out void."""
        for step in steps:
            self._steps.pop(step, None)
        self._save()

    def _load(self) -> dict[str, object]:
        try:
            steps = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            steps = None
        if not isinstance(steps, dict):
            problem = f"The journal {self._file} cannot be read."
            raise Refused("journal_unreadable", problem, next_action="Look at the chain, then move the file away.")
        return steps

    def _save(self) -> None:
        draft = self._file.with_suffix(".new")
        try:
            with open(draft, "w", encoding="utf-8", opener=_private) as file:
                json.dump(self._steps, file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._file)
        except OSError as error:
            problem = f"The journal {self._file} cannot be written."
            raise Failed("journal_not_written", problem, next_action="Make room or check its rights.") from error


@contextmanager
def open_journal(chain_id: ChainId, hub: Address, *names: str) -> Iterator[Journal]:
    """The journal of one piece of work, held by this process alone."""
    folder = _folder(chain_id, hub, names)
    with _private_file(folder, "lock") as lock:
        _take(lock)
        yield Journal(folder)


@contextmanager
def account_lock(chain_id: ChainId, account: Address) -> Iterator[None]:
    """Held while a nonce is chosen and first offered, so that two commands of one account do not choose the same."""
    with _private_file(state_directory() / "accounts", f"{chain_id}-{account}") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def note_done(chain_id: ChainId, hub: Address, *names: str) -> None:
    """Remember on this machine that a thing was done; nothing but that."""
    with _private_file(_folder(chain_id, hub, names), "done"):
        pass


def was_done(chain_id: ChainId, hub: Address, *names: str) -> bool:
    """Whether ``note_done`` was told of it on this machine."""
    return (_folder(chain_id, hub, names) / "done").exists()


def opened_name(bounty_id: str, solver: str, commitment: str) -> tuple[str, ...]:
    """How it is remembered that a Guardian opened a Submission."""
    return "opened", bounty_id, solver, commitment


def state_directory() -> Path:
    """``$XDG_STATE_HOME/service-cli``, else ``~/.local/state/service-cli``."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "service-cli"


def _folder(chain_id: ChainId, hub: Address, names: Sequence[str]) -> Path:
    return state_directory() / f"{chain_id}-{hub}" / "-".join(re.sub(r"[^A-Za-z0-9]", "", name) for name in names)


def _private_file(folder: Path, name: str) -> IO[str]:
    """A file of mode 0600 in a folder that, with everything made above it, is the owner's alone."""
    try:
        for level in reversed((folder, *folder.parents)):
            level.mkdir(exist_ok=True, mode=0o700)
        return open(folder / name, "a", encoding="utf-8", opener=_private)
    except OSError as error:
        problem = f"The state directory {folder} cannot be used."
        raise Failed("journal_not_written", problem, next_action="Check its rights, or set XDG_STATE_HOME.") from error


def _take(lock: IO[str]) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Refused(
            "already_running", "The same command is already running.", next_action="Wait for it, or stop it."
        ) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
