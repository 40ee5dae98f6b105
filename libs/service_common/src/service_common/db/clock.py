"""The database's time, which all that write moments there share.

A moment that one process writes and another compares must come from one clock: written by a machine whose clock is a
day ahead, "try again in a second" would be tomorrow to every other.
"""

import time
from typing import Self

from bounty_protocol.clock import SystemClock
from bounty_protocol.types import UnixSeconds
from sqlalchemy import Engine, text

from service_common.db.engine import reading


class DatabaseClock(SystemClock):
    """Read once and counted from there by the monotonic clock, so that it does not jump where the machine's does."""

    def __init__(self, now: float) -> None:
        """``now``: seconds since 1970 by the database."""
        self._ahead = now - time.monotonic()

    @classmethod
    def of(cls, engine: Engine) -> Self:
        """The clock of a database; ``DatabaseUnavailable`` where it does not answer."""
        with reading(engine) as connection:
            return cls(float(connection.execute(text("SELECT extract(epoch FROM now())")).scalar_one()))

    def now(self) -> UnixSeconds:
        return UnixSeconds(int(time.monotonic() + self._ahead))
