"""The ``.env`` of the working directory, read within bounds: a fallback that somebody else may have written.

What a key works for, it chooses only as the person confirms (``env_consent``).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Final

from service_cli.disk import Missing, Unusable, read_small
from service_cli.errors import CommandRefused
from service_cli.ui.output import warn

_KEY_NAME = re.compile(r"SERVICE_\w*PRIVATE_KEYS?(?:_JSON)?")


_OWN: Final = re.compile(r"^[^\S\r\n]*(?:export[^\S\r\n]+)?['\"]?SERVICE_", re.MULTILINE)
_BLANKS: Final = re.compile(r"[^\S\r\n]{64,}")


@dataclass(frozen=True, slots=True)
class EnvFile:
    """A ``.env`` that was read: where it is, and the variables in it."""

    path: Path
    """In its directory's real place."""
    values: Mapping[str, str] = field(repr=False)


def read_env_file(path: Path) -> EnvFile | None:
    """Read the file, its variables by python-dotenv's rules, ``${…}`` not expanded; None if there is none.

    Only names that begin with ``SERVICE_`` are used, and only mistakes in their lines are reported. Nothing is
    expanded, since a file that somebody else wrote could put a key of the environment into an address.
    """
    found = _read_text(path)
    if found is None:
        return None
    text, exposed = found
    from dotenv.parser import parse_stream  # takes a while, and most runs have no such file

    values: dict[str, str] = {}
    for binding in parse_stream(StringIO(_BLANKS.sub(" " * 64, text))):  # it takes square time over blanks
        name, value, own = binding.key or "", binding.value, _OWN.search(binding.original.string)
        if own is None or not (binding.error or name.startswith("SERVICE_")):
            continue
        if binding.error or value is None or not _is_text(name + value):  # also what an unclosed quote above took in
            number = binding.original.line + binding.original.string[: own.start()].count("\n")
            problem = f"Line {number} of {path} is not NAME=value."
            next_action = "Fix that line, or a quote left open above."
            raise CommandRefused("environment_file_malformed", problem, next_action=next_action)
        values[name] = value
    keys = [name for name in values if values[name] and _KEY_NAME.fullmatch(name)]
    if exposed and keys:
        warn(f"warning: {path} holds {', '.join(keys)} and can be read by other users; chmod 600 it")
    place = path.absolute().parent.resolve() / path.name
    return EnvFile(place, values)


def _read_text(path: Path) -> tuple[str, bool] | None:
    """Read the text, and whether other users can also read it; None if there is no file."""
    if path.is_dir():  # some people call a virtual environment .env
        return None
    try:
        text, exposed = read_small(path, errors="surrogateescape")
    except Missing:
        if not path.is_symlink():
            return None
        raise _unreadable(path, "leads to nothing", "Fix or remove it.") from None
    except Unusable as error:
        raise _unreadable(path, str(error), "Fix or remove it.") from None
    if "\0" in text:  # UTF-16, in which no name would be found
        raise _unreadable(path, "is not UTF-8 text", "Save it as UTF-8.")
    return text, exposed


def _unreadable(path: Path, problem: str, next_action: str) -> CommandRefused:
    return CommandRefused("environment_file_unreadable", f"{path} {problem}.", next_action=next_action)


def _is_text(value: str) -> bool:
    return "".join(value.split()).isprintable()
