"""Arguments of the command line: values, documents, directories, and keys that must not be among them.

A value is parsed once and refused with exit code 2 and a usage line. An argument that looks like a private key ends the
command before anything is read or done, and is never echoed. A commitment has the same form (32 bytes in hex), so one
such argument passes where a command takes a commitment.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from bounty_protocol.readiness.key_forms import AGE_BEGIN
from bounty_protocol.types import BountyId, parse_address, parse_bounty_id, parse_bytes32

from service_cli.errors import CommandRefused

if TYPE_CHECKING:
    from pathlib import Path

    from click.shell_completion import CompletionItem


class Value(click.ParamType[object]):
    """A value read by one of the shared parsers."""

    def __init__(
        self,
        name: str,
        parser: Callable[[str], object],
        metavar: str | None = None,
        offers: Callable[[str], "list[CompletionItem]"] = lambda _incomplete: [],
    ) -> None:
        self.name = name
        self._parser = parser
        self._metavar = metavar
        self._offers = offers

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":  # noqa: ARG002
        return self._offers(incomplete)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002
        return self._metavar if isinstance(param, click.Option) else None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> object:
        if not isinstance(value, str):
            return value
        try:
            return self._parser(value)
        except ValueError as error:
            self.fail(f"not {self.name}: {error}.", param, ctx)


def offer_paths(kind: Literal["file", "dir"]) -> Callable[[str], "list[CompletionItem]"]:
    """Let the shell complete any path, or only directories."""

    def offers(incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type=kind)]

    return offers


def offer_of(values: Callable[[], Iterable[str]]) -> Callable[[str], "list[CompletionItem]"]:
    """Offer the values that begin with what was typed."""

    def offers(incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        return [CompletionItem(value) for value in values() if value.startswith(incomplete)]

    return offers


def _networks() -> Iterable[str]:
    from bounty_protocol.chain.deployment import NETWORKS

    return NETWORKS


def _network(text: str) -> str:
    from bounty_protocol.chain.deployment import parse_network

    parse_network(text)
    return text


def _base_url(text: str) -> str:
    from bounty_protocol.web_address import parse_base_url

    return parse_base_url(text)


def _bounty_id(text: str) -> BountyId:
    try:
        return parse_bounty_id(text)
    except ValueError:
        raise ValueError(
            "a whole number from 1 to 9223372036854775807"
        ) from None  # one message for everything wrong with it


_AMOUNT: Final = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,18})?")


def _ether(text: str) -> int:
    """Parse ether to wei."""
    if _AMOUNT.fullmatch(text) is None:
        raise ValueError("digits, optionally followed by a point and up to 18 more, as in 0.01")
    whole, _, part = text.partition(".")
    return int(whole) * 10**18 + int(part.ljust(18, "0"))


def _path(text: str) -> "Path":
    from pathlib import Path

    if not text:
        raise ValueError("it is empty")
    return Path(text)


BOUNTY_ID: Final = Value("a bounty id", _bounty_id)
ADDRESS: Final = Value("an account address", parse_address, "ADDRESS")
COMMITMENT: Final = Value("a commitment", parse_bytes32)
NETWORK_NAME: Final = Value("a network", _network, "NAME|CHAIN_ID", offer_of(_networks))
BASE_URL: Final = Value("an API's address", _base_url, "URL")
ETHER: Final = Value("an amount of ether", _ether, "ETHER")
PATH: Final = Value("a path", _path, offers=offer_paths("file"))
"""As click's own type, but pathlib is loaded only for a command that has a path."""
OUTPUT_DIR: Final = Value("a path", _path, offers=offer_paths("dir"))
DOCUMENT: Final = Value("a document", str, offers=offer_paths("file"))
"""The path of a text, or - for stdin."""


MAX_BYTES: Final = 256 * 1024


def read_document(path: str) -> bytes:
    """Read the exact bytes, at most 256 KiB."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:  # noqa: PTH123  # pathlib takes longer to load than help to be shown
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise CommandRefused(
            "file_unreadable", f"{path} cannot be read: {reason}.", next_action="Check the path."
        ) from None
    if len(data) > MAX_BYTES:
        message = f"{path} is larger than {MAX_BYTES // 1024} KiB."
        raise CommandRefused("file_too_large", message, next_action="Shorten the document.")
    return data


def require_new(directory: "Path") -> None:
    """Refuse an output directory that could not take the files, before anything is signed for them."""
    if os.path.lexists(directory):
        is_good = (
            directory.is_dir() and not directory.is_symlink() and os.access(directory, os.R_OK | os.W_OK | os.X_OK)
        )
        problem = "" if is_good and not any(directory.iterdir()) else "must be new, or empty and writable by you"
    else:
        above = next(parent for parent in directory.absolute().parents if os.path.lexists(parent))
        is_good = above.is_dir() and os.access(above, os.W_OK | os.X_OK)
        problem = "" if is_good else f"cannot be created in {above}"
    if problem:
        message = f"The output directory {directory} {problem}."
        raise CommandRefused("output_refused", message, next_action="Name another OUTPUT_DIR, or empty this one.")


_HEX: Final = re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}")
_AGE: Final = re.compile(f"{AGE_BEGIN}[0-9A-Z]+", re.IGNORECASE)
_NAMED: Final = re.compile(
    r"--?[a-z-]*(?:private|secret|mnemonic|seed|passphrase)[a-z-]*(?:=.*)?", re.IGNORECASE | re.DOTALL
)
_TAKE_A_COMMITMENT: Final = {"guardian:open", "guardian:verdict", "guardian:deliver-key"}
_REASON: Final = (
    "an argument looks like a private key. Other users of this machine can read arguments, and your shell keeps them: "
    "set the key in the environment (or NAME_FILE to a file of mode 600). If the key holds funds, move them."
)


def key_in_arguments(arguments: Sequence[str]) -> str | None:
    """Return why these arguments are refused, or None. The reason never contains the values themselves."""
    values = [part for word in arguments for part in (word, word.partition("=")[2])]
    if any(_AGE.search(word) for word in arguments) or any(_NAMED.fullmatch(word) for word in arguments):
        return _REASON
    found = [word for word in values if _HEX.fullmatch(word.strip())]
    commitments = [word for word in found if word.startswith("0x")]
    takes_one = bool(_TAKE_A_COMMITMENT & set(arguments))
    return _REASON if len(found) > (1 if takes_one and len(commitments) == 1 else 0) else None


@contextmanager
def redacting() -> Iterator[None]:
    """Remove what looks like a key from a usage error, and ensure that it has a usage line."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        context = error.ctx or click.get_current_context(silent=True)
        raise click.UsageError(_AGE.sub("…", _HEX.sub("…", error.format_message())), context) from None
