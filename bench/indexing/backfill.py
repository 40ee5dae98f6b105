"""One copy of a chain from its beginning to a block, in a process that holds nothing else, as a worker does.

Prints the seconds it took and the most memory it held, in MB: ``{"seconds": 9.8, "peak": 116.0}``.
"""

import json
import sys
import time

from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.types import Address, BlockNumber, ChainId
from service_common.db.engine import make_engine
from service_indexer.chain import RpcChain
from service_indexer.follower import Follower
from service_indexer.writer import Writer

from bench.watching.memory import resident


def main(database_url: str, node_url: str, hub: str, chain_id: str, first: str, last: str) -> None:
    """Copy the blocks after ``first`` up to ``last``, or a little further."""
    address = Address(hub)
    writer = Writer(make_engine(database_url, application="bench"), ChainId(int(chain_id)), address)
    follower = Follower(RpcChain(Rpc([node_url]), address), writer, BlockNumber(int(first)))
    follower.step()  # begins the copy
    began = time.perf_counter()
    while follower.step() and (position := writer.position()) is not None and position.head.block_number < int(last):
        pass
    print(json.dumps({"seconds": time.perf_counter() - began, "peak": resident()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
