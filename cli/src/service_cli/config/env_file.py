"""The ``.env`` of the working directory: read within bounds, and used for what is signed only once it was accepted.

Somebody else may have put it there, and it could choose the network, the endpoint, the contract and the service that a
key of this user works for. So it is accepted as direnv does it, by the directory and the content that were seen. Values
that differ from the network's record have to be accepted expressly. Below a directory of opened work, which a Solver
filled, no ``.env`` is accepted.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Final

from service_cli.config.small_files import Unusable, read_small
from service_cli.disk import open_private, open_regular, private_file, state_directory
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import warn

ACCEPTED_VARIABLE: Final = "SERVICE_ACCEPTED_ENV_FILE"
_KEY_NAME = re.compile(r"SERVICE_\w*PRIVATE_KEYS?(?:_JSON)?")


_OWN: Final = re.compile(r"^[^\S\r\n]*(?:export[^\S\r\n]+)?['\"]?SERVICE_", re.MULTILINE)
_MARK: Final = "\ufeff"
"""What some editors write before text in UTF-8."""
_BLANKS: Final = re.compile(r"[^\S\r\n]{64,}")


@dataclass(frozen=True, slots=True)
class EnvFile:
    """A ``.env`` that was read: where it is, which content it had, and the variables in it."""

    path: Path
    """In its directory's real place."""
    digest: str
    """SHA-256 of its content, as ``sha256sum`` prints it."""
    values: Mapping[str, str] = field(repr=False)
    others: frozenset[str] = frozenset()
    """The names of what else it sets: one of them may be mistyped."""


def read_env_file(path: Path) -> EnvFile | None:
    """The file, its variables by python-dotenv's rules, ``${…}`` not expanded; None where there is none.

    Only names that begin with ``SERVICE_`` are used, and only their lines are complained about. Nothing is expanded,
    since a file that somebody else wrote could put a key of the environment into an address.
    """
    found = _read_text(path)
    if found is None:
        return None
    text, exposed = found
    from dotenv.parser import parse_stream  # takes a while, and most runs have no such file

    values: dict[str, str] = {}
    others = set[str]()
    lines = text.removeprefix(_MARK)
    for binding in parse_stream(StringIO(_BLANKS.sub(" " * 64, lines))):  # it takes square time over blanks
        name, value, own = binding.key or "", binding.value, _OWN.search(binding.original.string)
        if own is None or not (binding.error or name.startswith("SERVICE_")):
            if name and value:
                others.add(name)
            continue
        if binding.error or value is None or not _is_text(name + value):  # with what a quote left open above took in
            number = binding.original.line + binding.original.string[: own.start()].count("\n")
            problem = f"Line {number} of {path} is not NAME=value."
            next_action = "Fix that line, or a quote left open above."
            raise CommandRefused("environment_file_malformed", problem, next_action=next_action)
        values[name] = value
    keys = [name for name in values if values[name] and _KEY_NAME.fullmatch(name)]
    if exposed and keys:
        warn(f"warning: {path} holds {', '.join(keys)} and can be read by other users; chmod 600 it")
    content = text.encode("utf-8", "surrogateescape")
    place = path.absolute().parent.resolve() / path.name
    return EnvFile(place, hashlib.sha256(content).hexdigest(), values, frozenset(others))


def _read_text(path: Path) -> tuple[str, bool] | None:
    """The text, and whether other users can read it, too; None where there is no file."""
    if path.is_dir():  # some name a virtual environment so
        return None
    try:
        text, exposed = read_small(path, errors="surrogateescape")
    except FileNotFoundError:
        if not path.is_symlink():
            return None
        raise _unreadable(path, "leads to nothing", "Fix or remove it.") from None
    except Unusable as error:
        raise _unreadable(path, str(error), "Fix or remove it.") from None
    if "\0" in text:  # as in UTF-16, of which no name would be found
        raise _unreadable(path, "is no text in UTF-8", "Save it as UTF-8.")
    return text, exposed


def _unreadable(path: Path, problem: str, next_action: str) -> CommandRefused:
    return CommandRefused("environment_file_unreadable", f"{path} {problem}.", next_action=next_action)


def _is_text(value: str) -> bool:
    return "".join(value.split()).isprintable()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """That a ``.env`` was accepted: with these bytes, and whether values that differ from the record were, too."""

    digest: str
    differing: bool

    @staticmethod
    def of(file: EnvFile, exported: Mapping[str, str]) -> "Acceptance | None":
        """This user's for the file as it is, or that of a script, which names the content; else None."""
        if exported.get(ACCEPTED_VARIABLE, "").strip().lower() == file.digest:
            return Acceptance(file.digest, differing=True)
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            with open_regular(_place(file)) as kept:
                found = json.loads(kept.read())
            if found["path"] == str(file.path) and found["digest"] == file.digest:
                return Acceptance(file.digest, differing=found["differing"] is True)
        return None


def accept(file: EnvFile, *, differing: bool) -> None:
    """Remember that this user accepted the file as it is, in the place of what was accepted there before."""
    place = _place(file)
    private_file(place.parent, place.name).close()
    try:
        with open_private(place, "w") as kept:
            json.dump({"path": str(file.path), "digest": file.digest, "differing": differing}, kept)
    except OSError as error:
        message = f"The acceptance {place} cannot be written: {error.strerror}."
        raise CommandFailed("journal_not_written", message, next_action="Make room or check its rights.") from None


def revoke(path: Path) -> bool:
    """Forget that the ``.env`` of this path was accepted; whether it was."""
    place = _place_of(path)
    was = place.exists()
    place.unlink(missing_ok=True)
    return was


def note_opened(directory: Path) -> None:
    """Remember that opened work is, or is about to be, in this directory: its files are a Solver's."""
    place = _opened(directory.absolute().resolve())
    try:
        private_file(place.parent, place.name).close()
        with open_private(place, "w") as noted:
            noted.write(_identity(directory))
    except (CommandFailed, OSError):
        warn(f"it could not be noted that {directory} holds opened work: do not run commands in it")


def opened_above(path: Path) -> Path | None:
    """The directory of opened work that this file is in or below; another one made later in its place is none."""
    return next((level for level in path.parents if _noted(level) in {"", _identity(level)}), None)


def _noted(directory: Path) -> str | None:
    try:
        with open_regular(_opened(directory)) as noted:
            return noted.read(100).decode("ascii", "replace")
    except FileNotFoundError:
        return None
    except OSError:  # noted, and not to be read: then it counts
        return ""


def _identity(directory: Path) -> str:
    try:
        status = directory.stat()
    except OSError:  # not there yet
        return ""
    return f"{status.st_dev}:{status.st_ino}"


def _place(file: EnvFile) -> Path:
    return _place_of(file.path)


def _place_of(path: Path) -> Path:
    return state_directory() / "accepted" / _name(path)


def _opened(directory: Path) -> Path:
    return state_directory() / "opened-places" / _name(directory)


def _name(path: Path) -> str:
    return hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()
