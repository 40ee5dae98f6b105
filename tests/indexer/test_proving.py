"""The index shows from the chain's headers that nothing is missing, and says how far it could."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from bounty_protocol.types import BlockNumber
from service_indexer.follower import advance
from service_indexer.proving import BLOCKS_AT_ONCE
from service_indexer.source import RpcSource
from service_indexer.stretch import PROVEN_PER_STEP
from service_indexer.writer import Writer

from tests.endpoints import Change, Endpoint, Refusal, endpoint_before
from tests.indexer.replay import contents, fresh_copy
from tests.servers import DatabaseServer
from tests.world import World


@pytest.fixture
def endpoint(world: World) -> Iterator[Endpoint]:
    with endpoint_before(world.node.url) as made:
        yield made


def source_of(world: World, *endpoints: Endpoint) -> RpcSource:
    return RpcSource(Rpc([each.url for each in endpoints]), world.hub_address)


def follow(source: RpcSource, writer: Writer) -> None:
    while advance(source, writer):
        pass


def proven(writer: Writer) -> BlockNumber | None:
    head = writer.head()
    assert head is not None
    return head.proven_number


def newest(writer: Writer) -> BlockNumber:
    head = writer.head()
    assert head is not None
    return head.block_number


def lacking(*methods: str) -> Change:
    """An endpoint that does not have these methods."""
    return lambda method, _params, result: Refusal(-32601, "no such method") if method in methods else result


def only_newest(world: World) -> Change:
    """An endpoint that proves its newest block alone, as nodes without an archive."""

    def change(method: str, params: list[Any], result: Any) -> Any:
        old = method == "eth_getProof" and int(params[2], 16) < header_at(world.rpc, "latest").number
        return Refusal(-32000, "distance to target block exceeds maximum proof window") if old else result

    return change


def happen(world: World, seconds: int = 2) -> None:
    """A bounty and a Submission, each block later than the one before."""
    world.rpc.call("anvil_setBlockTimestampInterval", seconds)
    world.submit(world.create(), world.solver(1))
    world.node.mine(2)


def test_copy__that_follows__is_proven_up_to_its_newest_block(world: World) -> None:
    for _ in range(3):
        happen(world)
        world.index()
        assert proven(world.writer) == newest(world.writer) == header_at(world.rpc, "latest").number


def test_step__through_many_blocks_with_logs__asks_for_a_bounded_number_of_proofs(
    world: World, endpoint: Endpoint, database_server: DatabaseServer
) -> None:
    """Each answer may take seconds, and a step that is not over with its follower is begun anew by the next."""
    for _ in range(PROVEN_PER_STEP):
        world.submit(world.open_bounties[-1] if world.open_bounties else world.create(), world.solver(1))
        world.node.mine(1)
    source = source_of(world, endpoint)
    with fresh_copy(world, database_server) as (writer, _):
        asked, busy = [], True
        while busy:
            endpoint.asked.clear()
            busy = advance(source, writer)
            asked.append(endpoint.asked.count("eth_getProof"))
        assert proven(writer) == newest(writer)
    assert PROVEN_PER_STEP / 2 < max(asked) <= PROVEN_PER_STEP + 2


def test_copy__after_a_reorg__is_proven_again_at_the_new_tip(world: World) -> None:
    happen(world)
    world.index()
    world.submit(world.open_bounties[-1], world.solver(2))
    world.index()
    world.rpc.call("anvil_reorg", 1, [])
    world.index()
    assert proven(world.writer) == newest(world.writer)
    world.solver(2).forget_nonce()
    happen(world)
    world.index()
    assert proven(world.writer) == newest(world.writer)


@pytest.mark.attack
def test_only_endpoint__that_proves_a_block_falsely_for_good__is_counted_and_holds_nothing_up(
    world: World, endpoint: Endpoint
) -> None:
    world.index()
    began = proven(world.writer)
    old = world.rpc.call("eth_getProof", world.hub_address, [], hex(newest(world.writer)))
    endpoint.change = lambda method, _params, result: old if method == "eth_getProof" else result
    source = source_of(world, endpoint)
    happen(world)
    follow(source, world.writer)
    assert newest(world.writer) == header_at(world.rpc, "latest").number
    assert proven(world.writer) == began
    (only,) = source._chain.rpc.endpoints.all
    assert only.contradictions > 0


@pytest.mark.parametrize(
    "methods", [("eth_getProof",), ("eth_getBlockReceipts",), ("eth_getProof", "eth_getBlockReceipts")]
)
def test_endpoint__without_the_methods__is_used_on_and_the_copy_says_so(
    world: World, endpoint: Endpoint, methods: tuple[str, ...], database_server: DatabaseServer
) -> None:
    happen(world)
    endpoint.change = lacking(*methods)
    with fresh_copy(world, database_server) as (writer, engine):
        start, source = proven(writer), source_of(world, endpoint)
        follow(source, writer)
        world.index()
        assert contents(engine) == contents(world.engine("service_indexer"))
        assert proven(writer) == start
        asked = [each for each in endpoint.asked if each in methods]
        happen(world)
        follow(source, writer)
        assert [each for each in endpoint.asked if each in methods] == asked, "it was asked again"


def test_receipts__that_are_not_answered__hold_up_those_that_are_requested_with_them_alone(
    world: World, endpoint: Endpoint, database_server: DatabaseServer
) -> None:
    bounty_id = world.create()
    for _ in range(2 * BLOCKS_AT_ONCE):
        world.submit(bounty_id, world.solver(1))
    last = header_at(world.rpc, "latest")

    def broken(method: str, params: list[Any], result: Any) -> Any:
        return {"no": "receipts"} if (method, params[0]) == ("eth_getBlockReceipts", last.hash) else result

    endpoint.change = broken
    source = source_of(world, endpoint)
    with fresh_copy(world, database_server) as (writer, engine):
        for _ in range(5):
            with suppress(ChainUnavailable):
                advance(source, writer)
        assert last.number - BLOCKS_AT_ONCE <= newest(writer) < last.number
        with pytest.raises(ChainUnavailable):
            advance(source, writer)
        endpoint.change = lambda _method, _params, result: result
        follow(source, writer)
        world.index()
        assert contents(engine) == contents(world.engine("service_indexer"))


@pytest.mark.attack
def test_block__with_more_receipts_than_are_read__is_copied_and_stops_the_proof_alone(
    world: World, endpoint: Endpoint, database_server: DatabaseServer
) -> None:
    happen(world)
    world.submit(world.open_bounties[-1], world.solver(2))
    filled = header_at(world.rpc, "latest").hash
    happen(world)

    def change(method: str, params: list[Any], result: Any) -> Any:
        return "0x" * (1 << 20) if method == "eth_getBlockReceipts" and params[0] == filled else result

    endpoint.change = change
    with fresh_copy(world, database_server) as (writer, engine):
        rpc = Rpc([endpoint.url]).bounded(seconds=5.0, max_answer_bytes=1 << 20)
        follow(RpcSource(rpc, world.hub_address), writer)
        world.index()
        assert contents(engine) == contents(world.engine("service_indexer"))
        assert writer.known(newest(writer)) is not None
        assert proven(writer) != newest(writer)


def test_proof__of_a_later_block__covers_the_quiet_ones_since_the_last(
    world: World, endpoint: Endpoint, database_server: DatabaseServer
) -> None:
    happen(world)
    with fresh_copy(world, database_server) as (writer, _):
        follow(source_of(world, endpoint), writer)
        until = newest(writer)
        endpoint.change = lacking("eth_getProof")
        for _ in range(2):
            world.node.mine(2)
            follow(source_of(world, endpoint), writer)
            assert proven(writer) == until
        endpoint.change = only_newest(world)
        world.node.mine(1)
        follow(source_of(world, endpoint), writer)
        assert proven(writer) == newest(writer) > until
