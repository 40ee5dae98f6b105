"""Rules that do something first, for the process of the rules, which imports them by name."""

import os
import signal
import time
from typing import NoReturn

from bounty_protocol.readiness.material import Material


def spin(_: Material) -> NoReturn:
    while True:
        pass


def asleep(_: Material) -> NoReturn:
    time.sleep(600)
    raise AssertionError("nobody ended it")


def out_of_memory(_: Material) -> NoReturn:
    raise MemoryError


def mistaken(_: Material) -> NoReturn:
    raise KeyError("a mistake of the rules")


def killed(_: Material) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it is gone")
