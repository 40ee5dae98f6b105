"""Keys kept out of what this client seals, publishes and sends.

Promises: before anything is sealed, signed or sent, a directory or a document that holds a key of this run is refused,
with the name of the file and never with what is in it. Files that look like keys are only named: they may belong to the
work.
"""

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from service_cli.environment import Environment
from service_cli.loaded_keys import LoadedKeys, holds_age_key, loaded_keys
from service_cli.outcome import Refused
from service_cli.output import warn
from service_cli.words import printable

_LIKE_SECRETS: Final = (
    ".env", ".env.*", ".git", ".netrc", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_dsa*", "id_ecdsa*",
    "id_ed25519*", "*guardian*key*.json", "utc--*",
)  # fmt: skip
_SHOWN: Final = 10
_MOVED: Final = "If it was handed over before, move its funds and make a new key."


def check_directory(environment: Environment, directory: Path, *, open_key_files: bool) -> None:
    """Refuse work that holds a key of this run; name what looks as if it should not be in it."""
    keys = loaded_keys(environment, open_files=open_key_files)
    suspicious: list[str] = []
    for path in _below(directory):
        name = str(path.relative_to(directory))
        if _holds(keys, path, name):
            shown = "A name in it" if keys.inside(os.fsencode(name)) else printable(name, 200)
            message = f"{shown} holds a private key of this run: whoever opens your work would have it."
            next_action = f"Take it out of the directory. Nothing was sealed. {_MOVED}"
            raise Refused("secret_in_artifact", message, next_action=next_action)
        if any(fnmatchcase(path.name.lower(), pattern) for pattern in _LIKE_SECRETS):
            suspicious.append(printable(name, 100))
    if suspicious:
        more = f" and {len(suspicious) - _SHOWN} more" if len(suspicious) > _SHOWN else ""
        listed = ", ".join(suspicious[:_SHOWN])
        warn(f"warning: the Guardians and the Poster will get {listed}{more}; take out what is not your work")


def check_document(environment: Environment, data: bytes, what: str) -> None:
    """Refuse a text that everybody will read and that holds a key of this run, or any age identity."""
    if holds_age_key(data) or loaded_keys(environment).inside(data):
        message = f"{what} holds a private key: everybody could read it."
        raise Refused("secret_in_document", message, next_action=f"Take it out. Nothing was signed or sent. {_MOVED}")


def _below(directory: Path) -> Iterator[Path]:
    """Everything, folders before what is in them; what cannot be listed is refused when it is sealed."""
    for folder, folders, files in os.walk(directory):
        folders.sort()
        for name in (*folders, *sorted(files)):
            yield Path(folder, name)


def _holds(keys: LoadedKeys, path: Path, name: str) -> bool:
    if not keys:
        return False
    if keys.inside(os.fsencode(name)):
        return True
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb", buffering=0) as file:
            return keys.inside_file(file)
    except OSError:  # sealing it says why
        return False
