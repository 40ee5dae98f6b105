"""Where a run's values come from: what is exported, then ``.env``; a key from a variable or from the file it names.

An exported value wins in either form, and both forms at one level are refused. Of ``.env`` only ``SERVICE_`` variables
are used; a malformed line of one is refused by its number. What ``.env`` decides is shown in one line before anything
is signed with it, since somebody else may have put it there, and a variable that looks mistyped is named. No message
quotes a key, the credential in an address, or a value of unexpected form.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from service_cli.config.keys import Unusable, read_small
from service_cli.errors import CommandRefused
from service_cli.shell.mode import VARIABLE as OUTPUT_VARIABLE
from service_cli.shell.output import warn
from service_cli.shell.text import printable

_KEY_NAME = re.compile(r"SERVICE_\w*PRIVATE_KEYS?(?:_JSON)?")


_OWN: Final = re.compile(r"^[^\S\r\n]*(?:export[^\S\r\n]+)?['\"]?SERVICE_", re.MULTILINE)
_BLANKS: Final = re.compile(r"[^\S\r\n]{64,}")


def read_dotenv(path: Path) -> dict[str, str]:
    """The variables of the file by python-dotenv's rules, ``${…}`` not expanded; none where there is no file.

    Only names that begin with ``SERVICE_`` are used, and only their lines are complained about. Nothing is expanded,
    since a file that somebody else wrote could put a key of the environment into an address.
    """
    if path.is_dir():  # some name a virtual environment so
        return {}
    try:
        text, exposed = read_small(path, errors="surrogateescape")
    except FileNotFoundError:
        return {}
    except Unusable as error:
        raise CommandRefused(
            "environment_file_unreadable", f"{path} {error}.", next_action="Fix or remove it."
        ) from None
    from dotenv.parser import parse_stream  # takes a while, and most runs have no such file

    found: dict[str, str] = {}
    for binding in parse_stream(StringIO(_BLANKS.sub(" " * 64, text))):  # it takes square time over blanks
        name, value, own = binding.key or "", binding.value, _OWN.search(binding.original.string)
        if own is None or not (binding.error or name.startswith("SERVICE_")):
            continue
        if binding.error or value is None or not _is_text(name + value):  # with what a quote left open above took in
            number = binding.original.line + binding.original.string[: own.start()].count("\n")
            problem = f"Line {number} of {path} is not NAME=value."
            next_action = "Fix that line, or a quote left open above."
            raise CommandRefused("environment_file_malformed", problem, next_action=next_action)
        found[name] = value
    keys = [name for name in found if found[name] and _KEY_NAME.fullmatch(name)]
    if exposed and keys:
        warn(f"warning: {path} holds {', '.join(keys)} and can be read by other users; chmod 600 it")
    return found


def _is_text(value: str) -> bool:
    return "".join(value.split()).isprintable()


SECRETS: Final = (
    "SERVICE_POSTER_PRIVATE_KEY",
    "SERVICE_SOLVER_PRIVATE_KEY",
    "SERVICE_CLAIMANT_PRIVATE_KEY",
    "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY",
    "SERVICE_SUBSCRIBER_PRIVATE_KEY",
    "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON",
)
"""The keys of this client's roles, each also by a file that ``NAME_FILE`` names."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What is exported, and what ``.env`` adds to it."""

    exported: Mapping[str, str]
    fallback: Mapping[str, str]
    read: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Secrets by the file they came from: a pipe gives its content once."""

    @staticmethod
    def of_process() -> "Environment":
        """This process's environment and the ``.env`` of the working directory."""
        return Environment(dict(os.environ), read_dotenv(Path(".env")))

    def get(self, name: str) -> str | None:
        """A plain value; an exported one wins, an empty one counts as unset."""
        return self.exported.get(name) or self.fallback.get(name) or None

    def secret(self, name: str) -> str | None:
        """A secret from ``NAME`` or the file named by ``NAME_FILE``; both at one level is refused."""
        for level, source in ((self.exported, ""), (self.fallback, " in .env")):
            value, file = level.get(name), level.get(f"{name}_FILE")
            if value and file:
                problem = contradiction(name, source)
                raise CommandRefused("configuration_contradictory", problem, next_action="Keep one of the two.")
            if file:
                value = self.read[file] = self.read.get(file) or _read_secret(name, file)
            if value:
                if source:
                    warn(f"note: {name} was taken from .env")
                return value
        return None


def contradiction(name: str, source: str = "") -> str:
    """What is wrong with a key that is set in both forms."""
    return f"{name} and {name}_FILE are both set{source}."


def _read_secret(name: str, file: str) -> str:
    try:
        text, exposed = read_small(Path(file), pipes=True)
    except (OSError, Unusable) as error:
        reason = str(error) if isinstance(error, Unusable) else "cannot be read"
        problem = f"The file named by {name}_FILE {reason}."
        raise CommandRefused("configuration_malformed", problem, next_action="Check its path and rights.") from None
    if exposed:
        warn(f"warning: the file of {name}_FILE can be read by other users; chmod 600 it")
    return text.strip()


_ACCOUNTS: Final = ("SERVICE_HUB_ADDRESS", "SERVICE_ESCROW_TOKEN_ADDRESS")
_URLS: Final = ("SERVICE_RPC_URL", "SERVICE_API_BASE_URL", "SERVICE_SUBGRAPH_ENDPOINT")
_ACCOUNT: Final = re.compile(r"0x[0-9a-fA-F]{40}")
_NETWORK: Final = re.compile(r"[a-z0-9]{1,16}")
_KNOWN: Final = (
    *_ACCOUNTS, *_URLS, *SECRETS, *(f"{name}_FILE" for name in SECRETS), "SERVICE_CHAIN_ID",
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS", "SERVICE_BEACON_URLS", "SERVICE_BEACON_CHAIN_HASH",
    "SERVICE_BEACON_PUBLIC_KEY", "SERVICE_FINALITY_DEPTH", "SERVICE_DEBUG", OUTPUT_VARIABLE,
)  # fmt: skip
_OF_OTHER_PROGRAMS: Final = {
    "SERVICE_RPC_URLS",
    "SERVICE_SETTLER_PRIVATE_KEY",
    "SERVICE_SETTLER_PRIVATE_KEY_FILE",
}
"""The services' own variables that are close to one of this client."""
_CLOSE: Final = 0.9


def tell_sources(environment: Environment) -> None:
    """Name what ``.env`` decides, and what looks mistyped."""
    decided = [name for name in environment.fallback if _decides(environment, name)]
    if decided:
        warn(f"note: taken from .env: {', '.join(_shown(environment, name) for name in sorted(decided))}")
    if environment.fallback.get(OUTPUT_VARIABLE):
        warn(f"warning: {OUTPUT_VARIABLE} of .env is not used, since programs rely on the output; export it")
    for name in sorted({*environment.exported, *environment.fallback}):
        if (meant := _meant(name)) is not None and environment.get(name):
            warn(f"warning: {printable(name, 80)} is not read by this client; did you mean {meant}?")


def without_credentials(url: str) -> str:
    """Scheme, host and port; of a path only that there is one, since it may hold a key."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "malformed"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return "malformed"
    more = "/…" if parts.path.strip("/") or parts.query else ""
    return f"{parts.scheme}://{printable(parts.hostname, 100)}{port}{more}"


def _decides(environment: Environment, name: str) -> bool:
    """Keys are named where they are used."""
    other = name.removesuffix("_FILE") in SECRETS or name == OUTPUT_VARIABLE
    return bool(environment.fallback[name]) and not environment.exported.get(name) and not other


def _shown(environment: Environment, name: str) -> str:
    value = environment.fallback[name]
    if name in _URLS:
        return f"{name}={without_credentials(value)}"
    form = _ACCOUNT if name in _ACCOUNTS else _NETWORK if name == "SERVICE_CHAIN_ID" else None
    return printable(name, 80) if form is None else f"{name}={value if form.fullmatch(value) else 'malformed'}"


def _meant(name: str) -> str | None:
    if not name.upper().startswith("SERV") or name in _KNOWN or name in _OF_OTHER_PROGRAMS:
        return None
    from difflib import get_close_matches

    return next(iter(get_close_matches(name.upper(), _KNOWN, n=1, cutoff=_CLOSE)), None)
