"""A follower that begins while no endpoint answers: it goes on asking, so that their failures are counted."""

from threading import Event

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from bounty_protocol.types import BlockNumber
from service_indexer.jobs import first_header
from service_indexer.source import RpcSource

from tests.world import World


class Draining(Event):
    """Passes each pause at once; set, or something else happens, after so many."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most, self.waits = most, 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waits += 1
        if self.waits == self.most:
            self.set()
        return True


def test_beginning__without_an_endpoint__counts_its_failures_until_the_worker_is_drained(world: World) -> None:
    rpc = Rpc(["http://127.0.0.1:1"], own=True)
    draining = Draining(12)
    with pytest.raises(ChainUnavailable):
        first_header(RpcSource(rpc, world.hub_address, 1), BlockNumber(1), draining)
    assert rpc.endpoints.all[0].failures > 10, "the alert's bound"
