"""One copy of a chain from its beginning to a block, in a process that holds nothing else, as a worker's job does.

Prints the seconds it took and the most memory it held, in MB: ``{"seconds": 9.8, "peak": 116.0}``.
"""

import gc
import json
import sys
import time

from service_common.chain.blocks import header_at
from service_common.chain.json_rpc import JsonRpc
from service_common.db.engine import make_engine
from service_common.types import Address, BlockNumber, ChainId
from service_indexer.follower import advance
from service_indexer.source import RpcSource
from service_indexer.writer import only_writer

from bench.memory import resident


def main(database_url: str, node_url: str, hub: str, chain_id: str, first: str, last: str) -> None:
    """Copy the blocks after ``first`` up to ``last``, or a little further."""
    rpc, address = JsonRpc([node_url]), Address(hub)
    source, start = RpcSource(rpc, address), header_at(rpc, BlockNumber(int(first)))
    gc.collect()
    gc.freeze()  # as before a worker forks
    with only_writer(make_engine(database_url, application="bench"), ChainId(int(chain_id)), address, start) as writer:
        began = time.perf_counter()
        while advance(source, writer) and (head := writer.head()) is not None and head.block_number < int(last):
            pass
        seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "peak": resident()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
