"""One contract for every source: the real node, and the fake that stands for it in long storms."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable
from bounty_protocol.types import BlockNumber
from local_stack.anvil import AnvilServer
from service_indexer.source import Source

from tests.fakes.chain import FakeChain, bounty_created, submission_recorded
from tests.servers import Database
from tests.world import make_world


@contextmanager
def real(node: AnvilServer, database: Database) -> Iterator[Source]:
    with make_world(node, database) as world:
        for _ in range(3):
            world.submit(world.create(), world.solver(1))
        world.node.mine(2)
        yield world.source


@contextmanager
def fake(_node: AnvilServer, _database: Database) -> Iterator[Source]:
    chain = FakeChain(finality_depth=2)
    for number in range(1, 6):
        chain.mine([bounty_created(number, number), submission_recorded(number, 1, number)])
        chain.mine([])
    yield chain


@pytest.mark.parametrize("make", [real, fake])
def test_source__whatever_it_is__keeps_the_contract(make: object, node: AnvilServer, database: Database) -> None:
    with make(node, database) as source:  # type: ignore[operator]
        tip = source.tip()
        assert tip.finalized is not None
        assert tip.finalized.number == tip.latest.number - 2
        headers = source.headers(BlockNumber(1), tip.latest.number)
        assert [header.number for header in headers] == list(range(1, tip.latest.number + 1))
        assert headers[-1] == tip.latest
        assert all(child.parent_hash == parent.hash for parent, child in pairwise(headers))
        by_block = [log for header in headers for log in source.logs_of_block(header)]
        answer = source.logs_of_range(BlockNumber(1), tip.latest.number)
        assert answer.logs == by_block
        assert answer.covered == tip.latest.number
        assert by_block
        places = [(log.block_number, log.log_index) for log in by_block]
        assert places == sorted(places)
        with pytest.raises(ChainUnavailable):
            source.headers(tip.latest.number, BlockNumber(tip.latest.number + 1))
