"""A Hub of another release is noticed by its constants."""

import pytest
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_constants import read_publication_delay
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused

from tests.world import World


class WithoutDelay(Rpc):
    """An endpoint whose Hub has no ``publicationDelay``."""

    def call(self, method: str, *params: object) -> object:
        raise RpcRefused(3, "execution reverted")


def test_hub_without_the_delay_names_its_release(world: World) -> None:
    with pytest.raises(ChainUnavailable, match="earlier release"):
        read_publication_delay(Hub(WithoutDelay([world.node.url]), world.hub_address))
    assert read_publication_delay(Hub(world.rpc, world.hub_address)) == world.hub.terms.publication_delay
