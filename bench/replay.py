"""How long ``service-indexer verify`` and ``rebuild`` take over an index of millions of events, as ``large`` makes it:
the chain replayed into the scratch copy, every table compared, and the new copy put in the old one's place.

What deriving the generated chain takes is left out, as a node's answers would be. It takes three times as long as the
copy and twice its disk. SERVICE_BENCH_BOUNTIES makes the index smaller (at least 2,000).
"""

import logging
import sys
from functools import partial
from typing import Final
from unittest.mock import patch

from bounty_protocol.types import BlockNumber
from local_stack import postgres
from service_common import log
from service_common.chain.settings import ChainSettings
from service_indexer import replay
from service_indexer.config import IndexerConfig

from bench.figures import Figure, Report
from bench.generated.bounties import CHAIN, HUB
from bench.generated.chain import GeneratedChain, Spent
from bench.generated.copying import Copied, copy_chain
from bench.large import LARGE
from tests.servers import DatabaseServer

_say: Final = partial(print, file=sys.stderr)


def run(report: Report) -> None:
    """Measure the group."""
    log.configure("bench", logging.ERROR)
    with postgres.start() as server:
        copied = copy_chain(DatabaseServer.on(server).new(), LARGE)
        chain, config = GeneratedChain(LARGE), _config(copied)
        with patch.object(replay, "source_of", lambda *_: chain):
            began = Spent.now()
            wrong = [each.table for each in replay.verify_copy(config, _say) if not each.equal]
            _report(report, "verify", copied, Spent.now() - began - chain.spent)
            if wrong:
                raise RuntimeError(f"the replay differs: {wrong}")
            began, derived = Spent.now(), chain.spent
            replay.rebuild_copy(config, _say)
            _report(report, "rebuild", copied, Spent.now() - began - (chain.spent - derived))


def _report(report: Report, name: str, copied: Copied, spent: Spent) -> None:
    events = copied.whole.events
    said = f"by the clock, of {events:,} events; {spent.wall / events * 1_000_000:.0f} us for each"
    report(Figure(f"replay.{name}", spent.wall, "s", said, None))


def _config(copied: Copied) -> IndexerConfig:
    """That of a deployment whose chain is the generated one."""
    return IndexerConfig(
        chain=ChainSettings(CHAIN, HUB, BlockNumber(1), block_time_seconds=1.0, rpc_urls=("http://127.0.0.1:9",)),
        rpc_quorum=1,
        proofs=False,
        database_url=copied.database.url("service_indexer"),
        redis_url="",
        settler_key=None,
        internal_port=0,
        log_level=logging.ERROR,
    )
