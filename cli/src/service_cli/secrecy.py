"""Keys that were typed where everybody can read them: refused with the reason, and never echoed.

Promises: an argument that looks like a private key ends the command before anything is read or done. A commitment looks
the same (32 bytes in hex), so where a command takes one, one such argument passes; whatever a usage error quotes of the
arguments, such a value is not among it.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import click

_HEX: Final = re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}")
_AGE: Final = re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]+", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"--?[a-z-]*(?:private|secret|mnemonic|seed|passphrase)[a-z-]*(?:=.*)?", re.IGNORECASE | re.DOTALL
)
_TAKE_A_COMMITMENT: Final = {"guardian:open", "guardian:verdict", "guardian:deliver-key"}
_REASON: Final = (
    "an argument looks like a private key. Other users of this machine can read arguments, and your shell keeps them: "
    "set the key in the environment (or NAME_FILE to a file of mode 600). If it was a key of value, move its funds."
)


def key_in_arguments(arguments: Sequence[str]) -> str | None:
    """Why these arguments are refused, or None. The values themselves stay out of the answer."""
    values = [part for word in arguments for part in (word, word.partition("=")[2])]
    if any(_AGE.search(word) for word in arguments) or any(_NAMED.fullmatch(word) for word in arguments):
        return _REASON
    found = [word for word in values if _HEX.fullmatch(word.strip())]
    commitments = [word for word in found if word.startswith("0x")]
    takes_one = bool(_TAKE_A_COMMITMENT & set(arguments))
    return _REASON if len(found) > (1 if takes_one and len(commitments) == 1 else 0) else None


@contextmanager
def redacting() -> Iterator[None]:
    """Take what looks like a key out of a usage error, and see to it that it comes with a usage line."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        context = error.ctx or click.get_current_context(silent=True)
        raise click.UsageError(_AGE.sub("…", _HEX.sub("…", error.format_message())), context) from None
