"""The job of queue ``settle``."""

import os
from typing import Final

from bounty_protocol.chain.rpc import ChainUnavailable
from service_common.db.engine import engine_of_job
from service_common.jobs import JobKind, Message, Periodic, QueueName
from service_common.log import get_logger
from sqlalchemy import Engine

from service_indexer.config import IndexerConfig, read_config
from service_indexer.deadlines import has_work

ANSWER_SECONDS: Final = 4.0
"""How long an endpoint is waited for: each is asked the same, and a job has a minute."""

log = get_logger(__name__)


def settle_when_due(config: IndexerConfig, engine: Engine) -> Periodic:
    """Return the periodic job, which is due while there is something to be settled."""
    kind = JobKind(QueueName.SETTLE, "service_indexer.settling.settle", run_seconds=60)
    has_key, chain_id = config.settler_key is not None, config.chain.chain_id
    return Periodic(kind, every_seconds=5, is_due=lambda: has_key and has_work(engine, chain_id))


def settle(_received: Message) -> int:
    """Settle what is due; return how many transactions were sent. Idempotent: every sent settlement has a row."""
    from service_indexer.settler import make_settler  # web3, which no other process of the indexer loads

    config = read_config(os.environ)
    if config.settler_key is None:
        return 0
    chain = config.chain
    with engine_of_job(config.database_url, application="settler") as engine:
        settler = make_settler(
            engine,
            chain.rpc().bounded(seconds=ANSWER_SECONDS, patient=True),
            config.settler_key,
            chain.chain_id,
            chain.hub_address,
        )
        try:
            return settler.settle_due()
        except ChainUnavailable as error:
            log.warning("cannot settle", reason=str(error))
            return 0
