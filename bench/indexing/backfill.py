"""One copy of a chain from its beginning to a block, in a process that holds nothing else, as a worker's job does.

Prints the seconds it took and the most memory it held, in MB: ``{"seconds": 9.8, "peak": 116.0}``; with a last argument
``on`` or ``off``, whether logs are proven, also the processor time and how many calls went to the node.
"""

import gc
import json
import sys
import time
from collections.abc import Sequence

from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.endpoints import Endpoint
from bounty_protocol.chain.rpc import Call, Rpc
from bounty_protocol.types import Address, BlockNumber, ChainId
from service_common.db.engine import make_engine
from service_indexer.follower import advance
from service_indexer.source import RpcSource
from service_indexer.writer import only_writer

from bench.watching.memory import resident


class CountingRpc(Rpc):
    """Counts what it sends."""

    calls = 0

    def ask(self, endpoint: Endpoint, calls: Sequence[Call]) -> list[object]:
        self.calls += len(calls)
        return super().ask(endpoint, calls)


def main(database_url: str, node_url: str, hub: str, chain_id: str, first: str, last: str, proven: str = "on") -> None:
    """Copy the blocks after ``first`` up to ``last``, or a little further."""
    rpc, address = CountingRpc([node_url]), Address(hub)
    source, start = RpcSource(rpc, address, proven=proven == "on"), header_at(rpc, BlockNumber(int(first)))
    gc.collect()
    gc.freeze()  # as before a worker forks
    with only_writer(make_engine(database_url, application="bench"), ChainId(int(chain_id)), address, start) as writer:
        began, cpu, rpc.calls = time.perf_counter(), time.process_time(), 0
        while advance(source, writer) and (head := writer.head()) is not None and head.block_number < int(last):
            pass
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(json.dumps({"seconds": seconds, "peak": resident(), "cpu": cpu, "calls": rpc.calls}))


if __name__ == "__main__":
    main(*sys.argv[1:])
