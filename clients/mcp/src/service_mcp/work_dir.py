"""The one directory from which files may leave this machine, and below which opened work is put.

A page that tells an agent to submit ``~/.ssh`` meets this: a path outside is refused whatever it is called, and so is
one that leads outside by a link.
"""

from dataclasses import dataclass
from pathlib import Path

from service_mcp.refusals import Refusal

OPENED, WINNING = "opened", "winning"
"""Where opened work lies: it is a stranger's, and never leaves from there."""
_NEXT = "Put what is meant below the server's --work-dir, and name it from there."


@dataclass(frozen=True, slots=True)
class WorkDir:
    """Resolved once, when the server starts."""

    root: Path

    @staticmethod
    def of(path: Path) -> "WorkDir":
        """Refused where it is the root, a home or holds one: that would be no bound."""
        root = path.resolve(strict=True)
        home = Path.home().resolve()
        if not root.is_dir() or home.is_relative_to(root):
            message = f"{path} is no directory, or one with everything that you have."
            raise Refusal("work_dir_too_wide", message, next_action="Name a directory made for this.")
        return WorkDir(root)

    def file(self, path: str) -> Path:
        """A regular file below it."""
        found = self._below(path)
        if not found.is_file():
            raise Refusal("file_not_found", "There is no such file below the work dir.", next_action=_NEXT)
        return found

    def directory(self, path: str) -> Path:
        """A directory below it with work of one's own: neither the work dir itself, nor where opened work lies."""
        found = self._below(path)
        if found == self.root or found.relative_to(self.root).parts[0] in {OPENED, WINNING}:
            message = "That is the work dir itself, or work of others that was opened there."
            raise Refusal("not_own_work", message, next_action="Make a directory below the work dir for your own work.")
        if not found.is_dir():
            raise Refusal("file_not_found", "There is no such directory below the work dir.", next_action=_NEXT)
        return found

    def new(self, *names: str) -> Path:
        """Where something is to be made."""
        return self._below("/".join(names))

    def _below(self, path: str) -> Path:
        try:
            found = (self.root / path).resolve()
        except (OSError, ValueError, RuntimeError):
            raise Refusal("outside_work_dir", "This is no path.", next_action=_NEXT) from None
        if not found.is_relative_to(self.root):
            raise Refusal("outside_work_dir", "This path leads out of the work dir.", next_action=_NEXT)
        return found
