"""The process ``await-schema`` of every service: what a pod runs before its service starts.

A release never starts on a schema older than its own, in whatever order a cluster starts things. Waiting too long is
exit code 1 with the reason, so that the cluster tries again and shows why.
"""

import sys
from typing import Final

from bounty_protocol.clock import SystemClock

from service_common import log
from service_common.common_settings import database_url_of
from service_common.entry_point import Environment, Process

WAIT_SECONDS: Final = 300.0


def _await(environment: Environment) -> None:
    from service_common.db.migrate import SchemaBehind, await_schema  # brings alembic: 10 MB that no service needs

    url = database_url_of(environment)
    log.configure("await-schema")
    try:
        print(f"schema at {await_schema(url, clock=SystemClock(), seconds=WAIT_SECONDS)}")  # noqa: T201
    except SchemaBehind as error:
        sys.exit(str(error))


AWAIT_SCHEMA: Final = Process("wait until the database has this release's schema", _await)
