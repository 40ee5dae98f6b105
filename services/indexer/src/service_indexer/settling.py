"""The job of queue ``settle``."""

import os
from collections.abc import Mapping
from typing import Final

from bounty_protocol.chain.rpc import ChainUnavailable
from service_common.db.engine import engine_of_job
from service_common.jobs.queues import check_message
from service_common.log import get_logger

from service_indexer.config import read_config
from service_indexer.settler import make_settler

ANSWER_SECONDS: Final = 4.0
"""How long an endpoint is waited for: each is asked the same, and a job has a minute."""

log = get_logger(__name__)


def settle(received: Mapping[str, object]) -> int:
    """Settle what is due; how many transactions were sent. Idempotent: what was sent is a row."""
    check_message(received)
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
