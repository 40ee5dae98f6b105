"""Endpoints that leave out, invent, lag and refuse: nothing wrong is ever written."""

import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.chain.blocks import Header, header_at
from bounty_protocol.chain.events import Log
from bounty_protocol.chain.rpc import LIMIT_WAITS, ChainUnavailable, Rpc
from bounty_protocol.chain.rpc_answers import RANGE_BYTES
from bounty_protocol.types import Address, BlockNumber, Bytes32
from service_indexer.chain import LONGER_AFTER
from service_indexer.follower import advance
from service_indexer.source import RpcSource, bloom_admits, bloom_tells

from tests.endpoints import Change, endpoint_before
from tests.indexer.lying import LimitedRpc, LyingSource
from tests.indexer.replay import contents, fresh_copy
from tests.providers import SMALL_BATCH, provider_before
from tests.servers import DatabaseServer
from tests.world import World


def history(world: World) -> None:
    for _ in range(4):
        world.submit(world.create(), world.solver(1))
    world.finalize()


def test_provider__that_leaves_logs_out_of_a_range__is_noticed_by_the_filters(
    world: World, database_server: DatabaseServer
) -> None:
    history(world)
    lying = LyingSource(world.source, change_range=lambda logs: [log for log in logs if log.block_number % 2])
    with fresh_copy(world, database_server) as (writer, engine):
        while advance(lying, writer):
            pass
        assert lying.asked
        assert contents(engine) == contents(world.engine("service_indexer"))


def _foreign(logs: list[Log]) -> list[Log]:
    return [replace(log, block_hash=Bytes32("0x" + "11" * 32)) for log in logs]


@pytest.mark.parametrize("change", [_foreign], ids=["of other blocks"])
def test_provider__that_invents_logs__changes_nothing(
    world: World, database_server: DatabaseServer, change: object
) -> None:
    history(world)
    lying = LyingSource(world.source, change_range=change)  # type: ignore[arg-type]
    with fresh_copy(world, database_server) as (writer, engine):
        with pytest.raises(ChainUnavailable):
            advance(lying, writer)
        assert not any(contents(engine).values())


def test_provider__whose_blocks_do_not_link__changes_nothing(world: World) -> None:
    world.create()

    def broken(headers: list[Header]) -> list[Header]:
        return [replace(header, parent_hash=Bytes32("0x" + "11" * 32)) for header in headers]

    before = world.writer.head()
    with pytest.raises(ChainUnavailable, match="moved"):
        advance(LyingSource(world.source, change_headers=broken), world.writer)
    assert world.writer.head() == before


def test_provider__whose_blocks_do_not_end_in_its_newest_one__changes_nothing(world: World) -> None:
    world.node.mine(2)
    before, other = world.writer.head(), Bytes32("0x" + "11" * 32)
    lying = LyingSource(world.source, change_tip=lambda tip: replace(tip, latest=replace(tip.latest, hash=other)))
    with pytest.raises(ChainUnavailable, match="moved"):
        advance(lying, world.writer)
    assert world.writer.head() == before


def test_provider__that_lags_on_the_same_chain__retracts_nothing(world: World) -> None:
    world.create()
    world.index()
    before = world.writer.head()
    assert before is not None
    older = header_at(world.rpc, BlockNumber(before.block_number - 1))
    lagging = LyingSource(world.source, change_tip=lambda tip: replace(tip, latest=older))
    assert advance(lagging, world.writer) is False
    assert world.writer.head() == before


def test_provider__that_limits_ranges__is_asked_in_parts_that_grow_back(world: World) -> None:
    history(world)
    last = header_at(world.rpc, "latest").number
    limited = LimitedRpc(world, limit=5)
    logs = RpcSource(limited, world.hub_address).logs_of_range(BlockNumber(1), last)
    assert logs == world.source.logs_of_range(BlockNumber(1), last)
    first_accepted = next(index for index, span in enumerate(limited.spans) if span <= 5)
    assert any(span > 5 for span in limited.spans[first_accepted:]), "the span never grew back"


@pytest.mark.attack
@pytest.mark.parametrize("quorum", [1, 2])
def test_provider__that_answers_more_than_is_read__is_asked_in_parts_or_passed_over(world: World, quorum: int) -> None:
    history(world)
    last = header_at(world.rpc, "latest").number
    expected = world.source.logs_of_range(BlockNumber(1), last)

    def longer(spans: int) -> Change:
        def change(method: str, params: list[Any], result: Any) -> Any:
            if method != "eth_getLogs" or int(params[0]["toBlock"], 16) - int(params[0]["fromBlock"], 16) < spans:
                return result
            return ["0x" + "0" * RANGE_BYTES]

        return change

    with endpoint_before(world.node.url) as first, endpoint_before(world.node.url) as second:
        rpc = Rpc([first.url, second.url])
        first.change = longer(0)
        if quorum == 1:  # the other one answers in its place
            assert RpcSource(rpc, world.hub_address).logs_of_range(BlockNumber(1), last) == expected
            assert rpc.endpoints.all[0].failures > 0
        first.change = second.change = longer(2)
        assert RpcSource(rpc, world.hub_address, quorum).logs_of_range(BlockNumber(1), last) == expected
        first.change = second.change = longer(0)
        with pytest.raises(ChainUnavailable):
            RpcSource(rpc, world.hub_address, quorum).logs_of_range(BlockNumber(1), last)


def test_provider__that_refuses_even_one_block__is_unavailable(world: World) -> None:
    source = RpcSource(LimitedRpc(world, limit=0), world.hub_address)
    with pytest.raises(ChainUnavailable, match="one block"):
        source.logs_of_range(BlockNumber(1), BlockNumber(8))


def test_bloom__of_a_block_with_the_hubs_log__admits_the_hub_and_hardly_anyone_else(world: World) -> None:
    world.create()
    bloom = header_at(world.rpc, "latest").logs_bloom
    assert bloom_admits(bloom, bytes.fromhex(world.hub_address[2:]))
    others = [Address("0x" + f"{number:040x}") for number in range(1, 200)]
    assert sum(bloom_admits(bloom, bytes.fromhex(other[2:])) for other in others) < 5
    assert bloom_admits(b"", bytes(20))
    assert bloom_tells(bloom)
    assert [bloom_tells(b"\x0f" * 256), bloom_tells(b"\x0f" * 255 + b"\x1f")] == [True, False]  # half full, and more


def test_provider__that_never_answers_the_requests_of_a_whole_step__is_followed_by_what_it_answers(
    world: World, database_server: DatabaseServer
) -> None:
    history(world)
    world.node.mine(40)
    with fresh_copy(world, database_server) as (writer, engine), provider_before(world.node.url) as twin:
        twin.limit_batches(4)
        twin.lose_one_of(7)  # the headers of those blocks alone are ten requests
        source = RpcSource(Rpc([twin.url]), world.hub_address)
        for _ in range(100):
            with suppress(ChainUnavailable):
                advance(source, writer)
        world.index()
        assert contents(engine) == contents(world.engine("service_indexer"))
        head = writer.head()
        assert head is not None
        assert head.block_hash == header_at(world.rpc, "latest").hash


def test_headers__of_which_the_newest_are_not_shown__are_those_before_them(world: World) -> None:
    world.node.mine(10)
    last = header_at(world.rpc, "latest").number
    first, shown = BlockNumber(last - 9), BlockNumber(last - 3)

    def lacking(method: str, params: list[Any], result: Any) -> Any:
        return None if method == "eth_getBlockByNumber" and int(params[0], 16) > shown else result

    with endpoint_before(world.node.url) as endpoint:
        endpoint.change = lacking
        source = RpcSource(Rpc([endpoint.url]), world.hub_address)
        assert source.headers_from(first, last) == world.source.headers(first, shown)
        assert source.headers_from(first, shown) == world.source.headers(first, shown)
        with pytest.raises(ChainUnavailable, match=f"has no block {shown + 1}$"):
            source.headers(first, last)
        with pytest.raises(ChainUnavailable, match=f"has no block {shown + 1}$"):
            source.headers_from(BlockNumber(shown + 1), last)


def test_headers__before_a_false_one__count_for_nothing(world: World) -> None:
    world.node.mine(10)
    last = header_at(world.rpc, "latest").number

    def lying(method: str, params: list[Any], result: Any) -> Any:
        false = method == "eth_getBlockByNumber" and int(params[0], 16) == last
        return {**result, "hash": "0x" + "66" * 32} if false else result

    with endpoint_before(world.node.url) as endpoint:
        endpoint.change = lying
        rpc = Rpc([endpoint.url])
        with pytest.raises(ChainUnavailable):
            RpcSource(rpc, world.hub_address).headers_from(BlockNumber(last - 9), last)
        assert rpc.endpoints.all[0].contradictions == 1


def test_logs__of_a_range_of_which_the_newest_are_not_listed__are_those_before_them(world: World) -> None:
    history(world)
    last = header_at(world.rpc, "latest").number
    listed = BlockNumber(last - 4)

    def lacking(method: str, params: list[Any], result: Any) -> Any:
        return "no list" if method == "eth_getLogs" and int(params[0]["toBlock"], 16) > listed else result

    with endpoint_before(world.node.url) as endpoint:
        endpoint.change = lacking
        source = RpcSource(Rpc([endpoint.url]), world.hub_address)
        found = source.logs_of_range(BlockNumber(1), last)
        assert 0 < found.covered <= listed
        assert found == world.source.logs_of_range(BlockNumber(1), found.covered)
        with pytest.raises(ChainUnavailable):
            source.logs_of_range(BlockNumber(listed + 1), last)


@pytest.mark.parametrize("error", [SMALL_BATCH, (429, "batch too large")])
def test_provider__that_limits_batches__is_asked_in_parts_of_what_it_takes(
    world: World, error: tuple[int, str]
) -> None:
    world.node.mine(40)
    last = BlockNumber(header_at(world.rpc, "latest").number)
    first = BlockNumber(last - 39)
    with provider_before(world.node.url) as twin:
        twin.limit_batches(12, error)
        source = RpcSource(Rpc([twin.url]), world.hub_address)
        assert source.headers(first, last) == world.source.headers(first, last)
        assert twin.largest_batch == 40
        twin.largest_batch = 0
        assert source.headers(first, last) == world.source.headers(first, last)
        assert twin.largest_batch == 10, "what it refuses is not sent again"
        twin.limit_batches(1)
        with pytest.raises(ChainUnavailable):
            source.headers(first, last)


def test_provider__that_was_away_for_one_request__is_sent_as_many_calls_again(world: World) -> None:
    world.node.mine(40)
    last = BlockNumber(header_at(world.rpc, "latest").number)
    first = BlockNumber(last - 39)
    with provider_before(world.node.url) as twin:
        twin.lose(40)
        source = RpcSource(Rpc([twin.url]), world.hub_address)
        for _ in range(LONGER_AFTER):
            source.headers(first, last)
        twin.largest_batch = 0
        source.headers(first, last)
        assert twin.largest_batch == 40


def test_provider__that_is_queried_too_often__is_not_queried_for_less(world: World) -> None:
    world.node.mine(40)
    last = BlockNumber(header_at(world.rpc, "latest").number)
    with provider_before(world.node.url) as twin:
        twin.limit_rate(0, 60, retry_after="60")
        with pytest.raises(ChainUnavailable):
            RpcSource(Rpc([twin.url]), world.hub_address).headers(BlockNumber(last - 39), last)
        assert twin.requests == 1


@pytest.mark.parametrize("by_status", [True, False], ids=["status 429", "an error for each call"])
@pytest.mark.parametrize("number", [2, 3])
def test_provider__that_refuses_requests_now_and_then__is_asked_again_and_the_step_ends(
    world: World, monkeypatch: pytest.MonkeyPatch, number: int, *, by_status: bool
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    world.node.mine(40)
    last = BlockNumber(header_at(world.rpc, "latest").number)
    with provider_before(world.node.url) as twin:
        twin.limit_batches(4)
        twin.refuse_each(number, by_status=by_status)
        source = RpcSource(Rpc([twin.url]), world.hub_address)
        found = source.headers(BlockNumber(last - 39), last)
        assert found == world.source.headers(BlockNumber(last - 39), last)
    assert waited
    assert set(waited) <= set(LIMIT_WAITS)
