"""What an api shows of the Hub and its token for as long as it runs: no single endpoint's word."""

import pytest
from bounty_protocol.chain.hub_constants import read_agreed_constants
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc

from tests.api.conftest import Service
from tests.cli.servers import RpcProxy

DECIMALS = "0x313ce567"


def test_constants_of_one_of_several_are_refused(service: Service) -> None:
    world = service.world
    honest = read_agreed_constants(world.rpc, world.hub_address, world.chain_id)
    with RpcProxy(world.node.url) as other:
        honest_ones = [world.node.url, world.node.url + "/"]
        rpc, three = Rpc([other.url, world.node.url]), Rpc([other.url, *honest_ones])
        assert read_agreed_constants(rpc, world.hub_address, world.chain_id) == honest
        other.after = lambda method, params, result: (
            f"0x{18:064x}" if method == "eth_call" and params[0]["data"] == DECIMALS else result
        )
        with pytest.raises(ChainUnavailable, match="1 of 2"):
            read_agreed_constants(rpc, world.hub_address, world.chain_id)
        assert read_agreed_constants(three, world.hub_address, world.chain_id) == honest
        other.refuse = lambda _: (500, b"", {})
        assert read_agreed_constants(three, world.hub_address, world.chain_id) == honest
        with pytest.raises(ChainUnavailable):
            read_agreed_constants(rpc, world.hub_address, world.chain_id)
