"""``service-indexer``: the processes of the indexer."""

import sys
from collections.abc import Sequence

from bounty_protocol.auth.signature import account_of_key
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.clock import SystemClock
from prometheus_client import REGISTRY
from service_common import log
from service_common.db.engine import make_engine, reading
from service_common.db.errors import DatabaseUnavailable
from service_common.db.schema import AWAIT_SCHEMA, check_schema
from service_common.entry_point import Environment, Process, run_entry_point
from service_common.internal_port import Check, serve_internal_port
from service_common.jobs import QueueName, check_redis, connect, run_worker
from service_common.start import further_checks, report, require_usable
from service_common.timeouts import BoundedCall, Figures
from sqlalchemy import Engine

from service_indexer import jobs
from service_indexer.config import IndexerConfig, read_config
from service_indexer.follower import Halted
from service_indexer.metrics import endpoint_figures, index_figures
from service_indexer.rebuild import Behind, rebuild_copy
from service_indexer.settling import settle, settle_when_due
from service_indexer.solvency import COLLECTED_SECONDS, scraped_rpc, solvency_figures
from service_indexer.status import status_lines
from service_indexer.writer import AnotherWriter, NoCopy


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one process; return the exit code."""
    processes = {
        "worker": Process("follow the chain: run jobs of the queue index", _worker),
        "settler": Process("run jobs of the queue settle; does nothing without SERVICE_SETTLER_PRIVATE_KEY", _settler),
        "status": Process("print the newest block of the indexed copy, and its age", _status),
        "rebuild": Process(
            "read the chain again into a new copy, then replace the old copy with it",
            _rebuild,
            switches={"--back": "also if the endpoints' final block is older than the copy's, which removes facts"},
        ),
        "check": Process("try what worker and settler depend on, and print a line for each", _check),
        "await-schema": AWAIT_SCHEMA,
    }
    return run_entry_point("service-indexer", "The indexed copy of the Hub event log.", processes, arguments)


def _worker(environment: Environment) -> None:
    config = _configured(environment)
    engine = make_engine(config.database_url, application="indexer-health", pool_size=1)
    checks = _usable(config, engine)
    solvency = make_engine(config.database_url, application="indexer-solvency", pool_size=1)
    rpc = scraped_rpc(config.chain)
    REGISTRY.register(Figures(lambda: solvency_figures(solvency, config.chain, rpc), COLLECTED_SECONDS))
    chain = jobs.make_follower().chain
    look = BoundedCall(chain.look_at_each)
    REGISTRY.register(Figures(lambda: endpoint_figures(chain.endpoints, look.begin)))
    _serve_state(config, engine, checks)
    run_worker(QueueName.INDEX, (config.redis_url, config.database_url), [jobs.follow], [jobs.FOLLOW])


def _settler(environment: Environment) -> None:
    from service_indexer.settler import settler_figures  # web3, which no other process of the indexer loads

    config = _configured(environment)
    engine = make_engine(config.database_url, application="indexer-health", pool_size=1)
    checks = _usable(config, engine)
    if config.settler_key is not None:
        account = account_of_key(config.settler_key)
        log.get_logger(__name__).info("settling with this account's ether", account=account)
        rpc = config.chain.rpc()
        REGISTRY.register(Figures(lambda: settler_figures(rpc, account)))
    _serve_state(config, engine, checks)
    due = settle_when_due(config, engine)
    run_worker(QueueName.SETTLE, (config.redis_url, config.database_url), [settle], [due])


def _usable(config: IndexerConfig, engine: Engine) -> dict[str, Check]:
    """Try what both processes depend on; return the readiness checks among it."""
    checks = _checks(config, engine)
    require_usable(checks | further_checks(config.chain))
    return checks


def _checks(config: IndexerConfig, engine: Engine) -> dict[str, Check]:
    """Return the readiness checks of both processes."""
    redis, rpc, chain = connect(config.redis_url), config.chain.rpc(), config.chain
    return {
        "redis": lambda: check_redis(redis),
        "database": lambda: check_schema(engine, "service_indexer"),
        "chain": lambda: chain.check(rpc),
    }


def _serve_state(config: IndexerConfig, engine: Engine, checks: dict[str, Check]) -> None:
    """Serve the internal port, which shows the copy's position."""
    chain_id = config.chain.chain_id
    REGISTRY.register(Figures(lambda: index_figures(engine, chain_id, SystemClock())))
    serve_internal_port(config.internal_port, checks)


def _check(environment: Environment) -> None:
    from service_indexer.settler import check_gas

    config = read_config(environment)
    checks = _checks(config, make_engine(config.database_url, application="indexer-check", pool_size=1))
    checks |= further_checks(config.chain)
    if (key := config.settler_key) is not None:
        checks["settler's gas"] = lambda: check_gas(config.chain.rpc(), account_of_key(key))
    report(checks)


def _status(environment: Environment) -> None:
    config = read_config(environment)
    with reading(make_engine(config.database_url, application="indexer-status", pool_size=1)) as connection:
        for line in status_lines(connection, config.chain.chain_id):
            print(line)  # noqa: T201


def _rebuild(environment: Environment, *, back: bool) -> None:
    try:
        rebuilt = rebuild_copy(read_config(environment), _say, back=back)
    except ChainUnavailable as error:
        sys.exit(f"the RPC endpoints gave no usable answer: {error}")
    except DatabaseUnavailable as error:
        sys.exit(str(error))
    except NoCopy as error:
        sys.exit(f"{error}; does SERVICE_DATABASE_URL name this deployment's database?")
    except AnotherWriter:
        sys.exit("another rebuild of this database is running")
    except (Behind, Halted) as error:
        sys.exit(f"the new copy was not put in place: {error}")
    former = "had the same logs"
    if rebuilt.differed_from is not None:
        former = f"had different logs from block {rebuilt.differed_from} on"
    print(f"the new copy is in place, at block {rebuilt.block}; the old one {former}")  # noqa: T201


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _configured(environment: Environment) -> IndexerConfig:
    config = read_config(environment)
    log.configure("indexer", config.log_level)
    return config
