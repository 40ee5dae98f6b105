"""The job of queue ``index``.

``follow`` takes a step a second for five seconds, and its worker's thread begins it again at once. What a worker has
learned of the chain and of its endpoints lives as long as its process.
"""

import os
import random
import time
from functools import cache, partial
from typing import Final, NamedTuple

from bounty_protocol.chain.rpc import ChainUnavailable
from service_common.db.engine import make_engine
from service_common.db.errors import DatabaseUnavailable
from service_common.endings import connect_to_tell, tell_final
from service_common.jobs import JobKind, Message, Periodic, QueueName
from service_common.log import get_logger
from sqlalchemy import Engine

from service_indexer.chain import RpcChain, chain_of
from service_indexer.config import read_config
from service_indexer.follower import Follower, Halted
from service_indexer.writer import AnotherWriter, NoCopy, Writer

FOLLOW_SECONDS: Final = 5.0
STEP_SECONDS: Final = 1.0
FOLLOW: Final = Periodic(JobKind(QueueName.INDEX, "service_indexer.jobs.follow", run_seconds=300), every_seconds=0)

log = get_logger(__name__)


def follow(_received: Message) -> str:
    """Follow the chain for ``FOLLOW_SECONDS``; return why it ended."""
    chain, _, follower = make_follower()
    ends = time.monotonic() + FOLLOW_SECONDS
    while (left := ends - time.monotonic()) > 0:
        began = time.monotonic()
        try:
            pause = 0.0 if follower.step() else STEP_SECONDS - (time.monotonic() - began)
        except (Halted, AnotherWriter, NoCopy) as error:
            log.warning("follower stopped", reason=type(error).__name__, detail=str(error))
            time.sleep(STEP_SECONDS)  # the next run need not meet it at once
            return type(error).__name__
        except (ChainUnavailable, DatabaseUnavailable) as error:
            log.warning("cannot advance", reason=str(error))
            if isinstance(error, ChainUnavailable):
                chain.distrust()
            pause = STEP_SECONDS * random.uniform(0.5, 1)  # noqa: S311
        time.sleep(max(0.0, min(left, pause)))
    return "time is up"


class _Following(NamedTuple):
    """What lives as long as the process."""

    chain: RpcChain
    engine: Engine
    follower: Follower


@cache
def make_follower() -> _Following:
    """Make this process's follower."""
    config = read_config(os.environ)
    chain, settings = chain_of(config), config.chain
    engine = make_engine(config.database_url, application="indexer", pool_size=2)
    writer = Writer(engine, settings.chain_id, settings.hub_address)
    tell = partial(tell_final, connect_to_tell(config.redis_url))
    return _Following(chain, engine, Follower(chain, writer, settings.first_block, tell_final=tell))
