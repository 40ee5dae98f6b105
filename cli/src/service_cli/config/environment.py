"""Where a run's values come from: what is exported, then ``.env``; a key in one of its forms.

A key is set by a variable, a file, or a keystore. What is exported wins in any form, and two forms at one level are
refused. Of ``.env`` only ``SERVICE_`` variables are used; a malformed line of one is refused by its number. What
``.env`` decides is shown in one line; before a key works for what it chose, the person confirms the Hub
(``env_consent``), since somebody else may have put it there. No message quotes
a key, a command, the credential in an address, or a value of unexpected form.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from service_cli.config.env_file import EnvFile, read_env_file
from service_cli.disk import Unusable, read_small
from service_cli.errors import CommandRefused
from service_cli.ui.output import warn
from service_cli.ui.text import printable

POSTER_KEY: Final = "SERVICE_POSTER_PRIVATE_KEY"
SOLVER_KEY: Final = "SERVICE_SOLVER_PRIVATE_KEY"
CLAIMANT_KEY: Final = "SERVICE_CLAIMANT_PRIVATE_KEY"
GUARDIAN_KEY: Final = "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY"
"""The variables of the roles' account keys."""
SECRETS: Final = (
    POSTER_KEY,
    SOLVER_KEY,
    CLAIMANT_KEY,
    GUARDIAN_KEY,
    "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON",
)
"""The keys of this client's roles, each set in one of the forms of ``KeyForm``."""
_ACCOUNT_KEY: Final = "_PRIVATE_KEY"
_CHECK_PATH: Final = "Check its path and permissions."


class KeyForm(Enum):
    """How a key or a passphrase is set."""

    VARIABLE = ""
    FILE = "_FILE"
    KEYSTORE = "_KEYSTORE"

    def variable(self, name: str) -> str:
        """Return the variable that sets ``name`` in this form."""
        return (name.removesuffix(_ACCOUNT_KEY) if self is KeyForm.KEYSTORE else name) + self.value


def forms_of(name: str) -> tuple[KeyForm, ...]:
    """Return the forms in which a key can be set; a keystore holds an account's key and no encryption keys."""
    plain = (KeyForm.VARIABLE, KeyForm.FILE)
    return (*plain, KeyForm.KEYSTORE) if name.endswith(_ACCOUNT_KEY) else plain


def passphrase_of(name: str) -> str:
    """Return the variable that names the file of a keystore's passphrase."""
    return f"{KeyForm.KEYSTORE.variable(name)}_PASSPHRASE_FILE"


KEY_VARIABLES: Final = (
    *(form.variable(name) for name in SECRETS for form in forms_of(name)),
    *(passphrase_of(name) for name in SECRETS if name.endswith(_ACCOUNT_KEY)),
)
"""Every variable that sets a key, or the passphrase of one."""
FURTHER_VARIABLE: Final = "SERVICE_RPC_URLS"
"""Endpoints that are asked beside ``SERVICE_RPC_URL``."""
LOCAL_TIME_VARIABLE: Final = "SERVICE_LOCAL_TIME"
"""``moved`` where somebody moves the time of a local chain, so that this machine's clock says nothing about it."""
DOTENV: Final = ".env"
_EXPORTED: Final = "environment"


@dataclass(frozen=True, slots=True)
class KeySource:
    """The one place from which a key or a passphrase is taken."""

    variable: str
    form: KeyForm
    value: str = field(repr=False)
    """The key itself, or the file or keystore that has it."""
    level: str
    """``environment`` or ``.env``."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Exported variables, and those that ``.env`` adds."""

    exported: Mapping[str, str]
    fallback: Mapping[str, str]
    file: EnvFile | None = None
    """Where ``fallback`` came from; None if a program gave it."""
    read: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Secrets by the file or keystore they came from: a pipe gives its content once."""
    named: set[str] = field(default_factory=set, repr=False, compare=False)
    """Keys of ``.env`` that were named to the person."""

    @staticmethod
    def of_process() -> "Environment":
        """Read this process's environment, and the ``.env`` of the working directory."""
        file = read_env_file(Path(DOTENV))
        return Environment(dict(os.environ), file.values if file else {}, file)

    def get(self, name: str) -> str | None:
        """Return a plain value; an exported one wins, an empty one counts as unset."""
        return self.exported.get(name) or self.fallback.get(name) or None

    def source(self, name: str) -> KeySource | None:
        """Return the source of a key; refuse two forms of it at one level."""
        return self._first({form.variable(name): form for form in forms_of(name)})

    def passphrase_source(self, name: str) -> KeySource | None:
        """Return the source of the passphrase for a key's keystore."""
        return self._first({passphrase_of(name): KeyForm.FILE})

    def _first(self, forms: Mapping[str, KeyForm]) -> KeySource | None:
        for level, values in ((_EXPORTED, self.exported), (DOTENV, self.fallback)):
            found = [name for name in forms if values.get(name)]
            if len(found) > 1:
                message = f"{' and '.join(found)} are both set."
                raise CommandRefused("configuration_contradictory", message, next_action="Keep one of them.")
            if found:
                return KeySource(found[0], forms[found[0]], values[found[0]], level)
        return None

    def secret(self, name: str) -> str | None:
        """Read a secret from its variable or file; None if it is not set, or is a keystore's."""
        source = self.source(name)
        return None if source is None or source.form is KeyForm.KEYSTORE else self.read_source(source).strip()

    def read_source(self, source: KeySource) -> str:
        """Read the unparsed value of a variable or file."""
        if source.level == DOTENV and source.variable not in self.named:
            self.named.add(source.variable)
            warn(f"note: {source.variable} was taken from .env")
        if source.form is KeyForm.VARIABLE:
            return source.value
        if source.value not in self.read:
            try:
                text, exposed = read_small(Path(source.value), pipes=True)
            except Unusable as error:
                problem = f"The file named by {source.variable} {error}."
                raise CommandRefused("configuration_malformed", problem, next_action=_CHECK_PATH) from None
            if exposed:
                warn(f"warning: the file of {source.variable} can be read by other users; chmod 600 it")
            self.read[source.value] = text
        return self.read[source.value]


def tell_sources(environment: Environment) -> None:
    """Report the values taken from ``.env``; keys are reported where they are used."""
    decided = [
        printable(name, 80)
        for name, value in sorted(environment.fallback.items())
        if value and not environment.exported.get(name) and name not in (*KEY_VARIABLES, LOCAL_TIME_VARIABLE)
    ]
    if decided:
        warn(f"note: taken from .env: {', '.join(decided)}")
    if environment.fallback.get(LOCAL_TIME_VARIABLE):
        reason = "since it makes this run ignore this machine's clock"
        warn(f"warning: {LOCAL_TIME_VARIABLE} of .env is not used, {reason}; export it")
