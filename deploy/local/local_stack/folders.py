"""A folder for each person at the shell, beside the environment files: what he begins with, and a shell of his own.

``shell`` in it starts the caller's shell there, with the person's keys and nobody else's, the client on the path, text
on the screen and a state of his own, as if on a machine of his own; with arguments it hands them to that shell
(``shell -c '...'``). It works the same from bash, zsh and fish.
"""

import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from local_stack.accounts import RoleAccount
from local_stack.environment import EnvironmentFiles

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
PAGE: Final = "example.md"
WORK: Final = "work"
STATE: Final = ".state"
ROLES: Final = frozenset({"poster", "solver", "guardian", "fee-recipient"})
"""Who has anything to do with the client."""


def make_folders(files: EnvironmentFiles, people: Iterable[RoleAccount]) -> None:
    """Make each person's folder; it goes with the stack's other files."""
    for person in (each for each in people if each.role in ROLES):
        folder = files.folder / person.name
        folder.mkdir(mode=0o700)
        if person.role == "poster":
            shutil.copyfile(EXAMPLES / "bounty_challenge.md", folder / PAGE)
        if person.role == "solver":
            shutil.copytree(EXAMPLES / "artifact", folder / WORK)
        shell = folder / "shell"
        state = files.folder / STATE / person.name
        shell.write_text(_shell(files.role_path(person.name), folder, state), encoding="utf-8")
        shell.chmod(0o700)


def _shell(environment: Path, folder: Path, state: Path) -> str:
    programs = shlex.quote(str(Path(sys.executable).parent))
    return (
        "#!/bin/sh\n"
        "for name in $(env | sed -n 's/^\\(SERVICE_[A-Z_]*PRIVATE_KEY[A-Z_]*\\)=.*/\\1/p'); do unset \"$name\"; done\n"
        f"set -a; . {shlex.quote(str(environment))}; set +a\n"
        f'export PATH={programs}:"$PATH"\n'
        f"export XDG_STATE_HOME={shlex.quote(str(state))}\n"
        f'cd {shlex.quote(str(folder))} && exec "${{SHELL:-/bin/sh}}" "$@"\n'
    )
