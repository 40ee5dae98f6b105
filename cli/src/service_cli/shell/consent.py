"""What a person at the terminal is asked before something that cannot be taken back."""

import sys

from service_cli.shell.output import is_redirected, warn


def typed_yes(question: str, what: str) -> bool | None:
    """Whether the person typed yes to allow ``what``; None where nobody is at a terminal to be asked."""
    if is_redirected() or sys.stdin is None or not sys.stdin.isatty():
        return None
    warn(f"{question} Type yes to {what}.")
    return sys.stdin.readline().strip() == "yes"
