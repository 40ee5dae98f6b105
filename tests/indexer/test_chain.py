"""The chain as the index reads it: one contract for node and double, and several endpoints that agree or not."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from bounty_protocol.chain.blocks import Header, header_at
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from bounty_protocol.types import BlockNumber, BountyId
from local_stack.anvil import AnvilServer
from service_indexer.chain import FollowedChain, RpcChain
from service_indexer.follower import Follower

from tests.cli.servers import Change, Refusal, RpcProxy
from tests.fakes.chain import FakeChain, bounty_created, submission_recorded
from tests.indexer.replay import contents, fresh_copy
from tests.servers import Database, DatabaseServer
from tests.world import World, make_world


@contextmanager
def real(node: AnvilServer, database: Database) -> Iterator[FollowedChain]:
    with make_world(node, database) as world:
        for _ in range(3):
            world.submit(world.fund(), world.solver(1))
        world.node.mine(2)
        yield world.chain


@contextmanager
def double(_node: AnvilServer, _database: Database) -> Iterator[FollowedChain]:
    chain = FakeChain(finality_depth=2)
    for number in range(1, 4):
        chain.mine([bounty_created(number, number)])
        chain.mine([submission_recorded(number, 1, number)])
    chain.mine([])
    chain.mine([])
    yield chain


@pytest.mark.parametrize("make", [real, double])
def test_node_and_double_keep_one_contract(make: Any, node: AnvilServer, database: Database) -> None:
    with make(node, database) as chain:
        glimpse = chain.glimpse(BlockNumber(1))
        newest = glimpse.newest
        assert glimpse.fact_hash == chain.header(BlockNumber(1)).hash
        assert glimpse.root is not None
        assert chain.glimpse(BlockNumber(newest.number + 1)).fact_hash is None
        assert chain.reached(newest) == newest.number
        assert chain.final() == newest.number - 2
        found = chain.logs(BlockNumber(1), newest.number)
        assert found.end == newest
        places = [(log.block_number, log.log_index) for log in found.logs]
        assert places == sorted(set(places))
        for log in found.logs:
            header: Header = chain.header(log.block_number)
            assert (log.block_hash, found.times[log.block_number]) == (header.hash, header.time)
        part = chain.logs(BlockNumber(1), BlockNumber(newest.number - 3))
        assert part.logs == found.logs[: len(part.logs)]
        pages = chain.open_bounties([BountyId(1), BountyId(3), BountyId(4)], newest.number)
        assert [page is None for page in pages] == [False, False, True]
        with pytest.raises(ChainUnavailable):
            chain.header(BlockNumber(newest.number + 1))
        with pytest.raises(ChainUnavailable):
            chain.logs(BlockNumber(1), BlockNumber(newest.number + 1))


@pytest.fixture
def endpoints(world: World) -> Iterator[list[RpcProxy]]:
    """Three endpoints before the world's node."""
    with ExitStack() as stack:
        yield [stack.enter_context(RpcProxy(world.node.url)) for _ in range(3)]


def quorum_of(world: World, endpoints: list[RpcProxy], quorum: int = 2) -> RpcChain:
    return RpcChain(Rpc([each.url for each in endpoints]), world.hub_address, quorum)


def copied(world: World, server: DatabaseServer, chain: FollowedChain, steps: int = 30) -> dict[str, Any]:
    """What a copy that is made by way of this chain holds."""
    with fresh_copy(world, server) as (writer, engine):
        follower = world.follower(chain, writer)
        for _ in range(steps):
            try:
                if not follower.step():
                    break
            except ChainUnavailable:
                chain.distrust()
        return contents(engine)


def without_last_log(method: str, _params: list[Any], result: Any) -> Any:
    return result[:-1] if method == "eth_getLogs" else result


def other_headers(method: str, _params: list[Any], result: Any) -> Any:
    return {**result, "hash": "0x" + "77" * 32} if method == "eth_getBlockByNumber" and result else result


def other_data(method: str, _params: list[Any], result: Any) -> Any:
    return [{**each, "data": each["data"][:-1] + "7"} for each in result] if method == "eth_getLogs" else result


def refusing(_method: str, _params: list[Any], _result: Any) -> Any:
    return Refusal(-32000, "not here")


FALSE: dict[str, Change] = {
    "a log less": without_last_log,
    "another header": other_headers,
    "altered logs": other_data,
    "nothing": refusing,
}


@pytest.mark.parametrize(("says", "place"), list(zip(FALSE, (0, 1, 2, 0), strict=True)))
def test_one_of_three_is_outvoted(
    world: World, database_server: DatabaseServer, endpoints: list[RpcProxy], says: str, place: int
) -> None:
    world.submit(world.fund(), world.solver(1))
    world.finalize()
    endpoints[place].after = FALSE[says]
    chain = quorum_of(world, endpoints)
    assert copied(world, database_server, chain) == contents(world.engine("service_indexer"))


@pytest.mark.parametrize("says", FALSE)
def test_two_that_differ_write_nothing(
    world: World, database_server: DatabaseServer, endpoints: list[RpcProxy], says: str
) -> None:
    world.submit(world.fund(), world.solver(1))
    world.finalize()
    endpoints[1].after = FALSE[says]
    chain = quorum_of(world, endpoints[:2])
    assert copied(world, database_server, chain)["bounties"] == []


def lagging(world: World, blocks: int) -> Change:
    """An endpoint that is some blocks behind: it has no newer block, and lists no newer log."""

    def change(method: str, params: list[Any], result: Any) -> Any:
        newest = world.tip() - blocks
        if method == "eth_getBlockByNumber":
            if params[0] == "latest":
                return world.rpc.call(method, hex(newest), False)
            if params[0] == "finalized":
                return world.rpc.call(method, hex(max(0, newest - 2)), False)
            return None if result is None or int(result["number"], 16) > newest else result
        if method == "eth_getLogs":
            return [each for each in result if int(each["blockNumber"], 16) <= newest]
        return result

    return change


def test_two_lagging_endpoints_end_at_the_nodes_copy(
    world: World, database_server: DatabaseServer, endpoints: list[RpcProxy]
) -> None:
    chain = quorum_of(world, endpoints[:2])
    with fresh_copy(world, database_server) as (writer, engine):
        moment = 0.0
        follower = Follower(chain, writer, BlockNumber(world.hub.deploy_block - 1), monotonic=lambda: moment)
        bounty = world.fund()
        late = list[int]()
        for turn in range(24):
            honest = lagging(world, 0)
            endpoints[turn % 2].after, endpoints[1 - turn % 2].after = lagging(world, 3 + turn % 8), honest
            if turn % 4 == 0:
                world.solver(1).forget_nonce()
                world.submit(bounty, world.solver(1))
            world.node.mine(5)  # a second of blocks of 0.2 s
            moment += 1.0
            try:
                while follower.step():
                    pass
            except ChainUnavailable:
                chain.distrust()
            newest = max((log.block_number for log in writer.logs(BlockNumber(0), None)), default=0)
            on_chain = max(int(str(each["blockNumber"]), 16) for each in _logs(world))
            late.append(world.tip() - on_chain if newest < on_chain else 0)
        for each in endpoints:
            each.after = lagging(world, 0)
        moment += 60.0
        follower = world.follower(chain, writer)
        while follower.step():
            pass
        world.index()
        assert contents(engine) == contents(world.engine("service_indexer"))
        assert max(late) <= 25, "five seconds of blocks"


def _logs(world: World) -> list[dict[str, Any]]:
    found = world.rpc.call("eth_getLogs", {"address": world.hub_address, "fromBlock": "0x0", "toBlock": "latest"})
    assert isinstance(found, list)
    return found


def test_finality_is_what_a_quorum_calls_final(world: World, endpoints: list[RpcProxy]) -> None:
    world.node.mine(20)
    endpoints[0].after = lagging(world, 9)
    endpoints[1].after = lagging(world, 4)
    final = header_at(world.rpc, "finalized").number
    assert quorum_of(world, endpoints).final() == final - 4
    assert quorum_of(world, endpoints, 3).final() == final - 9


def test_chain_without_a_tag_is_final_by_depth(world: World) -> None:
    chain = RpcChain(world.rpc, world.hub_address, finality_depth=5)
    assert chain.final() == world.tip() - 5


def test_refused_proofs_are_asked_for_once_in_a_while(world: World, endpoints: list[RpcProxy]) -> None:
    endpoint = endpoints[0]
    endpoint.after = lambda method, _params, result: (
        Refusal(-32601, "the method does not exist") if method == "eth_getProof" else result
    )
    chain = RpcChain(Rpc([endpoint.url]), world.hub_address)
    assert [chain.glimpse(None).root for _ in range(3)] == [None] * 3
    assert endpoint.calls.count("eth_getProof") == 1


def test_logs_of_other_blocks_are_refused(world: World, endpoints: list[RpcProxy]) -> None:
    """Two nodes behind one address, on two branches."""
    world.fund()
    endpoints[0].after = lambda method, _params, result: (
        [{**each, "blockHash": "0x" + "66" * 32} for each in result] if method == "eth_getLogs" else result
    )
    chain = RpcChain(Rpc([endpoints[0].url]), world.hub_address)
    with pytest.raises(ChainUnavailable):
        chain.logs(BlockNumber(1), world.tip())


def test_block_that_was_not_requested_is_refused(world: World, endpoints: list[RpcProxy]) -> None:
    world.node.mine(3)
    before = world.rpc.call("eth_getBlockByNumber", hex(world.tip() - 1), False)
    endpoints[0].after = lambda method, _params, result: before if method == "eth_getBlockByNumber" else result
    with pytest.raises(ChainUnavailable):
        RpcChain(Rpc([endpoints[0].url]), world.hub_address).header(world.tip())
