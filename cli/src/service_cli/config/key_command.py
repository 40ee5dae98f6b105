"""A command that prints a key or a passphrase, such as ``op read …`` or ``pass show …``.

It is the user's own: exported, or named by the user's configuration file, never by a ``.env``. It is not run
by a shell, has an empty stdin, and two minutes. What it prints is bounded, and neither that nor
the command itself is in any message: where it fails, the user runs it by hand to see why.
"""

import os
import select
import shlex
import subprocess
import time
from collections.abc import Mapping
from shutil import which
from typing import Final

from service_cli.config.small_files import MAX_KEY_FILE, PIPE_SECONDS
from service_cli.errors import CommandFailed, CommandRefused

TIME_LIMIT: Final = PIPE_SECONDS
_CHUNK: Final = 4_096


def run_key_command(variable: str, command: str, environment: Mapping[str, str]) -> str:
    """The output of the command; ``variable`` is its name in messages."""
    try:
        arguments = shlex.split(command)
    except ValueError:
        arguments = []
    if not arguments:
        message = f"{variable} is not a command: a quote in it is left open, or it is blank."
        raise CommandRefused("configuration_malformed", message, next_action=f"Correct {variable}.")
    if which(arguments[0], path=os.pathsep.join(os.get_exec_path(environment))) is None:
        # Not left to execvp, which reports what is wrong with a folder of PATH instead.
        where = "at its path" if os.sep in arguments[0] else "in PATH"
        raise _failed(variable, f"could not be started: there is no such program {where} that you may run")
    try:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its arguments are malformed"
        raise _failed(variable, f"could not be started: {reason}") from None
    try:
        output = _output(process, variable)
    finally:
        process.kill()  # nothing where it ended
        process.wait()
    if process.returncode:
        raise _failed(variable, f"ended with exit code {process.returncode}")
    try:
        return output.decode()
    except UnicodeDecodeError:
        raise _failed(variable, "printed something that is not text") from None


def _output(process: "subprocess.Popen[bytes]", variable: str) -> bytes:
    """Everything it prints until it ends, within the limits."""
    assert process.stdout is not None  # noqa: S101  # it is a pipe
    ends, output = time.monotonic() + TIME_LIMIT, bytearray()
    with process.stdout as pipe:
        while True:
            ready, _, _ = select.select([pipe], [], [], max(0.0, ends - time.monotonic()))
            if not ready:
                raise _failed(variable, f"did not end within {TIME_LIMIT:.0f} seconds")
            chunk = os.read(pipe.fileno(), _CHUNK)
            if not chunk:
                break
            output += chunk
            if len(output) > MAX_KEY_FILE:
                raise _failed(variable, f"printed more than {MAX_KEY_FILE // 1024} KiB")
    try:
        process.wait(max(0.0, ends - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise _failed(variable, f"did not end within {TIME_LIMIT:.0f} seconds") from None
    return bytes(output)


def _failed(variable: str, what: str) -> CommandFailed:
    next_action = "Run it by hand to see why: its output is not shown here, since it may hold the key."
    return CommandFailed("key_command_failed", f"The command of {variable} {what}.", next_action=next_action)
