"""The console entry point every service shares: one subcommand per process.

``--help`` lists the processes. Incomplete configuration is one message that names every variable, and exit code 2,
before anything starts. A database that does not answer, or refuses this role, is one message and exit code 1, as a
``ServiceError`` is. SIGTERM ends every process, also one that has nothing to drain: in its container it is process 1,
whose signals the kernel drops where no handler is installed.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NoReturn

from bounty_protocol.errors import ServiceError

from service_common.config import ConfigurationError
from service_common.db.errors import explain

Environment = Mapping[str, str]
TERMINATED: Final = 128 + signal.SIGTERM
"""The exit code that a shell shows for it."""


@dataclass(frozen=True, slots=True)
class Process:
    """One subcommand. ``run`` reads its configuration from the environment and returns when the process ends.

    ``arguments`` are names (``id``, ``--page``) with their help; ``run`` gets each by its name, as text or None.
    ``switches`` are options without a value; ``run`` gets True or False.
    """

    help: str
    run: Callable[..., None]
    arguments: Mapping[str, str] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)


def run_entry_point(
    program: str, description: str, processes: Mapping[str, Process], arguments: Sequence[str] | None
) -> int:
    """Run the chosen process; return the exit code."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, process in processes.items():
        command = commands.add_parser(name, help=process.help, description=process.help)
        for argument, words in process.arguments.items():
            command.add_argument(argument, help=words)
        for switch, words in process.switches.items():
            command.add_argument(switch, action="store_true", help=words)
    given = vars(parser.parse_args(arguments))
    signal.signal(signal.SIGTERM, _terminate)  # a process that drains sets its own
    try:
        processes[given.pop("command")].run(os.environ, **given)
    except ConfigurationError as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201  # a person reads this before any log exists
        return 2
    except Exception as error:
        explained = explain(error) or (error.message if isinstance(error, ServiceError) else None)
        if explained is None:
            raise
        print(f"{program}: {explained}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _terminate(_number: int, _frame: object) -> NoReturn:
    """Exit at once: transactions are rolled back, connections closed."""
    sys.exit(TERMINATED)
