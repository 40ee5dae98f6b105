"""Notifications of PostgreSQL: who commits something new wakes those that wait for it.

A notification holds no fact and may be lost: a failover forgets all. So whoever waits looks again after a while, and a
lost one costs that while. A pooler that gives each transaction another session is none of this: locks of a session do
not hold behind it either (docs/operations.md).
"""

import select
import time
from enum import StrEnum
from typing import Final

import psycopg
from sqlalchemy import Connection, func
from sqlalchemy import select as select_rows
from sqlalchemy.exc import DBAPIError

from service_common.db.errors import DatabaseUnavailable
from service_common.log import get_logger

_READABLE: Final = select.POLLIN | select.POLLERR | select.POLLHUP

log = get_logger(__name__)


class Channel(StrEnum):
    """What is notified of."""

    TO_SEND = "service_to_send"
    """Changes of the index, notices about sealed work, and webhooks that are new or changed: what may be sent."""


def notify(connection: Connection, channel: Channel) -> None:
    """Wake those that listen, once this transaction is committed."""
    connection.execute(select_rows(func.pg_notify(channel.value, "")))


class Listener:
    """One that waits on a connection which nothing else uses meanwhile; its transactions end with each statement.

    Where the server or a pooler does not let it listen, waiting takes its time.
    """

    def __init__(self, connection: Connection, channel: Channel) -> None:
        self._driver: psycopg.Connection[object] | None = None
        driver = connection.connection.driver_connection
        if not isinstance(driver, psycopg.Connection):
            raise TypeError("not a psycopg connection")
        try:
            connection.exec_driver_sql(f"LISTEN {channel.value}")
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            log.warning("cannot listen: looks at intervals instead", channel=channel.value, reason=str(error.orig))
            return
        self._driver = driver

    def wait(self, seconds: float) -> bool:
        """Wait for a notification, at most so long; whether one came. ``DatabaseUnavailable`` where the connection was
        lost, and with it what its session held."""
        if self._driver is None:
            time.sleep(seconds)
            return False
        try:
            return self._wait(self._driver, seconds)
        except psycopg.Error as error:
            raise DatabaseUnavailable("the connection that listens was lost") from error

    def _wait(self, driver: psycopg.Connection[object], seconds: float) -> bool:
        ends, waiting = time.monotonic() + seconds, select.poll()
        waiting.register(driver.fileno(), _READABLE)
        while waiting.poll(max(0.0, ends - time.monotonic()) * 1000):
            driver.pgconn.consume_input()  # raises where the connection has ended; a last message may come before
            came = False
            while driver.pgconn.notifies() is not None:
                came = True
            if came:
                return True
        return False
