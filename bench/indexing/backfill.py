"""One copy of a chain from its beginning to a block, for a process that holds nothing else, as a worker does."""

import time

from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.types import Address, BlockNumber, ChainId
from service_common.db.engine import make_engine
from service_indexer.chain import RpcChain
from service_indexer.follower import Follower
from service_indexer.writer import Writer

from bench.watching.memory import resident


def backfill(
    database_url: str, node_url: str, hub: Address, chain_id: ChainId, first: BlockNumber, last: BlockNumber
) -> tuple[float, float]:
    """Copy the blocks after ``first`` up to ``last``, or a little further; return the seconds that it took, and the
    most memory that this process held, in MB.
    """
    writer = Writer(make_engine(database_url, application="bench"), chain_id, hub)
    follower = Follower(RpcChain(Rpc([node_url]), hub), writer, first)
    follower.step()  # begins the copy
    began = time.perf_counter()
    while follower.step() and (position := writer.position()) is not None and position.head.block_number < last:
        pass
    return time.perf_counter() - began, resident()
