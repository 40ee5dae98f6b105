"""How somebody who looks elsewhere learns that a bounty has ended: a bell, a desktop notification, a command.

The command is the user's own, split as a shell splits it and run without one. It gets the bounty's id and how it ended
in variables, nothing that a stranger wrote, and no private key. What it prints is on stderr.
"""

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Final

from service_common.domain.lifecycle import Outcome, SettlementReason
from service_common.types import BountyId

from service_cli.config.environment import without_keys
from service_cli.shell.output import ring, warn

_NOTIFIER: Final = "notify-send"
_NOTIFIER_SECONDS: Final = 10
_TEXTS: Final = {Outcome.AWARDED: "awarded", Outcome.NO_VALID_SUBMISSION: "ended without a winner"}


@dataclass(frozen=True, slots=True)
class EndSignal:
    """What happens once the end is final."""

    bell: bool = False
    notify: bool = False
    command: tuple[str, ...] = ()

    def prepare(self) -> None:
        """Report at the start what will not be possible at the end."""
        if self.notify and shutil.which(_NOTIFIER) is None:
            warn(f"warning: no notification will be shown, since this machine has no {_NOTIFIER}")

    def give(self, bounty_id: BountyId, outcome: Outcome, reason: SettlementReason | None) -> None:
        """Ring, notify and run; what fails is a warning, since the bounty has ended all the same."""
        if self.bell:
            ring()
        if self.notify and (notifier := shutil.which(_NOTIFIER)) is not None:
            text = f"Bounty {bounty_id} is final: {_TEXTS[outcome]}."
            _run([notifier, "--", "service-cli", text], {}, _NOTIFIER_SECONDS)
        if self.command:
            told = {
                "SERVICE_BOUNTY_ID": str(bounty_id),
                "SERVICE_BOUNTY_STATE": outcome.value,
                "SERVICE_BOUNTY_REASON": "" if reason is None else reason.value,
            }
            _run(list(self.command), told, None)


NO_SIGNAL: Final = EndSignal()


def split_command(text: str) -> tuple[str, ...]:
    """The words of a command; ``ValueError`` for an open quote, for nothing, and for a program that is not there."""
    words = tuple(shlex.split(text))
    if not words:
        raise ValueError("it is empty")
    if shutil.which(words[0]) is None:
        raise ValueError("its program is not found")
    return words


def _run(words: list[str], more: dict[str, str], seconds: int | None) -> None:
    plain = without_keys(os.environ)
    try:
        done = subprocess.run(  # the user's own command line, without a shell
            words,
            env=plain | more,
            stdin=subprocess.DEVNULL,
            stdout=_stderr(),
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else "it took too long"
        warn(f"warning: {os.path.basename(words[0])} could not be run: {reason or 'it failed'}")  # noqa: PTH119
        return
    if done.returncode:
        warn(f"warning: {os.path.basename(words[0])} ended with exit code {done.returncode}")  # noqa: PTH119


def _stderr() -> int:
    """Where a child prints: never on stdout, which carries events."""
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return subprocess.DEVNULL
