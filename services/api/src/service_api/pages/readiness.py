"""What a process that shows the pages alone depends on."""

from service_common.db.schema import check_schema
from service_common.internal_port import Check
from sqlalchemy import Engine

from service_api.config import ApiConfig


def pages_checks(config: ApiConfig, engine: Engine) -> dict[str, Check]:
    """Return the readiness checks of a process that shows the pages alone."""
    rpc = config.chain.rpc()
    may_be_standby = config.pages.may_be_standby
    return {
        "database": lambda: check_schema(engine, "service_pages", may_be_standby=may_be_standby),
        "chain": lambda: config.chain.check(rpc),
    }
