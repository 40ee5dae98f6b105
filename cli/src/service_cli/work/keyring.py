"""A Guardian's encryption keys: made, rotated with the old ones kept, and shown by their public halves only.

No secret is printed, returned to a command's output or put into a message; the file is private to its owner
(0600) and replaced in one step, read back before that, so that no interruption loses a key; a second run at the same
time waits. A key that is in the file stays in it: bounties pin the roster, and with it the key, of their day.
"""

import fcntl
import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bounty_protocol.crypto.x25519 import MAX_KEYRING, Identity, parse_keyring, recipient_text
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32

from service_cli.config.environment import Environment, KeyForm
from service_cli.disk import Unusable, read_small, replace_private
from service_cli.errors import CommandFailed, CommandRefused
from service_cli.ui.output import emit, say, warn
from service_cli.work.events import EncryptionKey, NewEncryptionKey

VARIABLE: Final = "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON"
_FILE_VARIABLE: Final = f"{VARIABLE}_FILE"


def add_key(environment: Environment, path: Path | None, *, rotate: bool) -> None:
    """Run the command ``guardian:new-key``: put a new key before all others in the keyring file."""
    named = path or environment.exported.get(_FILE_VARIABLE)  # that of a .env may be somebody else's
    if named is None:
        message = "No file is given for the keys."
        raise CommandRefused("file_not_named", message, next_action=f"Name one, or set {_FILE_VARIABLE}.")
    target = Path(named).absolute().resolve()
    with _held(target):
        kept = _kept(environment, target, rotate=rotate)
        if len(kept) == MAX_KEYRING:
            message = f"{target} holds {MAX_KEYRING} keys, the most a keyring can hold."
            raise CommandRefused(
                "keyring_full", message, next_action="Remove keys that are in no open bounty's roster."
            )
        added = Identity.generate()
        try:
            replace_private(target, json.dumps([key.to_text() for key in (added, *kept)], indent=1) + "\n")
        except OSError as error:
            message = f"{target} cannot be written: {error.strerror or error}."
            raise CommandFailed(
                "file_not_written", message, next_action="Free some space or check its permissions."
            ) from None
    emit(NewEncryptionKey(str(target), added.public_key, recipient_text(added.public_key), len(kept) + 1))
    say(f"set {_FILE_VARIABLE}={target} (and not {VARIABLE})")
    say("give the public key to the Hub's owner, who publishes a roster with it")


def show_keys(environment: Environment, path: Path | None, roster: Collection[Bytes32] | None) -> None:
    """Run the command ``guardian:keys``: print the public half of each key, newest first, and whether ``roster`` holds
    it.
    """
    text = environment.secret(VARIABLE) if path is None else _read(path)
    if text is None:
        next_action = f"Set {_FILE_VARIABLE}, name a file, or make one with guardian:new-key."
        raise CommandRefused("key_missing", f"{VARIABLE} is not set.", next_action=next_action)
    keys = [identity.public_key for identity in _parsed(text, VARIABLE if path is None else str(path))]
    for position, key in enumerate(keys):
        in_roster = None if roster is None else key in roster
        emit(EncryptionKey(position, key, recipient_text(key), in_roster))
    if roster is not None and keys[0] not in roster:
        other = "an older key of this keyring is" if set(keys) & set(roster) else "no key of this keyring is"
        warn(f"the newest key is not in the current roster; {other}: ask the Hub's owner for a new version")


def _kept(environment: Environment, target: Path, *, rotate: bool) -> tuple[Identity, ...]:
    """Return the existing keys: those in the file or, if it is new, those that are configured."""
    if not os.path.lexists(target):
        if rotate:
            message = f"{target} does not exist: there is nothing to rotate."
            next_action = "Check the path; to make a first key, omit --rotate."
            raise CommandRefused("nothing_to_rotate", message, next_action=next_action)
        source = environment.source(VARIABLE)
        if source is None or (source.form is KeyForm.FILE and Path(source.value).absolute().resolve() == target):
            return ()
        return _parsed(environment.read_source(source), source.variable)
    if not rotate:
        message = f"{target} exists already."
        raise CommandRefused(
            "keys_exist", message, next_action="Add --rotate to put a new key in front of those in it."
        )
    return _parsed(_read(target), str(target))


def _read(path: Path) -> str:
    try:
        return read_small(path)[0]
    except Unusable as error:
        message = f"{path} {error}."
        raise CommandRefused("file_unreadable", message, next_action="Check its path and permissions.") from None


def _parsed(text: str, source: str) -> tuple[Identity, ...]:
    try:
        return parse_keyring(text.strip())
    except ServiceError as error:
        message = f"{source} is not a keyring: {error.message}"
        raise CommandRefused("key_malformed", message, next_action="Correct it by hand; nothing was changed.") from None


@contextmanager
def _held(target: Path) -> Iterator[None]:
    """Let one run at a time use this folder."""
    try:
        folder = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        message = f"{target.parent} is not a directory that can be used."
        raise CommandRefused("file_not_written", message, next_action="Make it first, or name another file.") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
