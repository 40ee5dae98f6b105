"""A refusal as a model reads it: one JSON object with code, message, next action and issues."""

import functools
import json
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from bounty_protocol.errors import ServiceError
from mcp.server.mcpserver.exceptions import ToolError
from service_cli.errors import CommandRefused

from service_mcp.untrusted import shown

P = ParamSpec("P")
T = TypeVar("T")
MOST_LETTERS = 2_000


class Refusal(CommandRefused):
    """A refusal of this server's own."""


def refusing(tool: Callable[P, T]) -> Callable[P, T]:
    """Return the same tool, whose refusals are tool errors."""

    @functools.wraps(tool)
    def run(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return tool(*arguments, **named)
        except ServiceError as error:
            raise _told(error) from error
        except OSError as error:  # such as a full disk; of the network the client tells in its own words
            message = f"This machine could not read or write a file: {error.strerror or type(error).__name__}."
            next_action = "Make room there, or have your person look; then call again: nothing is done twice."
            raise _told(Refusal("state_not_written", message, next_action=next_action)) from error

    return run


def _told(error: ServiceError) -> ToolError:
    found: dict[str, object] = {
        "code": error.code,
        "message": shown(error.message, MOST_LETTERS),
        "next_action": shown(error.next_action, MOST_LETTERS),
    }
    if error.issues:
        found["issues"] = [f"{issue.path}: {shown(issue.message, 300)}" for issue in error.issues[:20]]
    if error.retry_not_before is not None:
        found["retry_not_before"] = error.retry_not_before
    return ToolError(json.dumps(found, ensure_ascii=False))
