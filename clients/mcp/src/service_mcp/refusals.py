"""A refusal as a model reads it: one JSON object with code, message, next action and issues."""

import functools
import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import ParamSpec, TypeVar

from bounty_protocol.errors import ServiceError
from mcp.server.mcpserver.exceptions import ToolError
from service_cli.disk import state_below
from service_cli.errors import CommandRefused

from service_mcp.untrusted import shown

P = ParamSpec("P")
T = TypeVar("T")
MOST_LETTERS = 2_000


class Refusal(CommandRefused):
    """A refusal of this server's own."""


def refusing(tool: Callable[P, T], state: Path | None = None) -> Callable[P, T]:
    """The same tool, whose refusals are tool errors; it remembers in ``state``, else where the client does."""

    @functools.wraps(tool)
    def run(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            with nullcontext() if state is None else state_below(state):
                return tool(*arguments, **named)
        except ServiceError as error:
            raise _told(error) from error
        except OSError as error:  # such as a full disk; of the network the client tells in its own words
            raise _told(_of_disk(error)) from error

    return run


def _told(error: ServiceError) -> ToolError:
    return ToolError(json.dumps(_as_json(error), ensure_ascii=False))


def _of_disk(error: OSError) -> Refusal:
    message = f"This machine could not read or write a file: {error.strerror or type(error).__name__}."
    next_action = "Make room there, or have your person look; then call again: nothing is done twice."
    return Refusal("state_not_written", message, next_action=next_action)


def _as_json(error: ServiceError) -> dict[str, object]:
    found: dict[str, object] = {
        "code": error.code,
        "message": shown(error.message, MOST_LETTERS),
        "next_action": shown(error.next_action, MOST_LETTERS),
    }
    if error.issues:
        found["issues"] = [f"{issue.path}: {shown(issue.message, 300)}" for issue in error.issues[:20]]
    if error.retry_not_before is not None:
        found["retry_not_before"] = error.retry_not_before
    return found
