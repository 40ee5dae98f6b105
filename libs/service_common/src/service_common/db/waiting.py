"""The process ``await-schema`` of every service: what a pod runs before its service starts.

No service starts without its own schema, in whatever order a cluster starts things. Waiting too long is
exit code 1 with the reason, so that the cluster tries again and shows why.
"""

import sys
from typing import Final

from bounty_protocol.clock import SystemClock

from service_common import log
from service_common.common_settings import database_url_of
from service_common.db.schema import SchemaMissing, await_schema
from service_common.entry_point import Environment, Process

WAIT_SECONDS: Final = 300.0


def _await(environment: Environment) -> None:
    url = database_url_of(environment)
    log.configure("await-schema")
    try:
        await_schema(url, clock=SystemClock(), seconds=WAIT_SECONDS)
    except SchemaMissing as error:
        sys.exit(str(error))


AWAIT_SCHEMA: Final = Process("wait until the database has this release's schema", _await)
