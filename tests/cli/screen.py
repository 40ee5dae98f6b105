"""``service-cli`` as a whole process at a real terminal of a given width: its stderr, or with it its stdout."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time
from dataclasses import dataclass
from threading import Thread

from tests.cli.kill import CLIENT
from tests.cli.terminal import Terminal

CODES = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Seen:
    """How it ended, what a program read, and every byte that the terminal got."""

    code: int
    stdout: str
    screen: str


def at_terminal(
    shell: Terminal,
    *words: str,
    columns: int = 80,
    typed: str | None = None,
    prompt: str = "",
    watched: bool = False,
    **more: str,
) -> Seen:
    """Run a command.

    With ``typed`` stdin is the same terminal, and that is what a person types, once ``prompt`` is there; ``watched``
    makes it stdout, too.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    screen = bytearray()
    reader = Thread(target=_read, args=(ours, screen), daemon=True)
    reader.start()
    environment = {"TERM": "xterm"} | ({} if watched else {"COLUMNS": str(columns)}) | shell.variables(**more)
    stdin = subprocess.DEVNULL if typed is None else theirs
    with subprocess.Popen(
        [CLIENT, *words],
        cwd=shell.home, env=environment, stdin=stdin,
        stdout=theirs if watched else subprocess.PIPE, stderr=theirs,
    ) as process:  # fmt: skip
        os.close(theirs)
        ends = time.monotonic() + 60
        while prompt not in screen.decode(errors="replace") and process.poll() is None and time.monotonic() < ends:
            time.sleep(0.02)
        os.write(ours, (typed or "").encode())
        try:
            stdout, _ = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    reader.join(timeout=10)
    os.close(ours)
    return Seen(process.returncode, (stdout or b"").decode(), screen.decode(errors="replace").replace("\r\n", "\n"))


def text_of(shell: Terminal, *words: str) -> str:
    """What a wide terminal shows of a command, without colours."""
    return CODES.sub("", at_terminal(shell, *words, columns=200, watched=True).screen)


def _read(ours: int, into: bytearray) -> None:
    while True:
        try:
            data = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            return
        if not data:
            return
        into += data
