"""Where a run's values come from: what is exported, then ``.env``; secrets from a variable or from the file it names.

Promises: an exported value wins in either form; both forms at one level are refused; a key from ``.env`` and a file
that others can read are told, never quoted.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from service_cli.dotenv import read_dotenv
from service_cli.key_files import Unusable, read_small
from service_cli.outcome import Refused
from service_cli.output import warn

SECRETS: Final = (
    "SERVICE_POSTER_PRIVATE_KEY",
    "SERVICE_SOLVER_PRIVATE_KEY",
    "SERVICE_CLAIMANT_PRIVATE_KEY",
    "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY",
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
                raise Refused("configuration_contradictory", problem, next_action="Keep one of the two.")
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
        raise Refused("configuration_malformed", problem, next_action="Check its path and rights.") from None
    if exposed:
        warn(f"warning: the file of {name}_FILE can be read by other users; chmod 600 it")
    return text.strip()
