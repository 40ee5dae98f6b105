"""Questions to the person at the terminal before something that cannot be taken back."""

import sys

from service_cli.errors import CommandRefused
from service_cli.ui.output import is_redirected, warn


def can_be_asked() -> bool:
    """Return whether a person is at a terminal."""
    return not is_redirected() and sys.stdin is not None and sys.stdin.isatty()


def typed_yes(question: str, what: str) -> bool | None:
    """Return whether the person typed yes to allow ``what``; None if nobody is at a terminal to be asked."""
    if not can_be_asked():
        return None
    warn(f"{question} Type yes to {what}.")
    return sys.stdin.readline().strip() == "yes"


def require_consent(message: str, what: str, refusal: CommandRefused, *, is_given: bool = False) -> None:
    """Raise the refusal unless ``what`` was allowed by an option (``is_given``), or is now by a typed yes."""
    if is_given:
        warn(f"warning: {message}")
    elif not typed_yes(message, what):
        raise refusal
