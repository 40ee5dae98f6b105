"""Block facts: at most one call per new block, and a real node's reorgs seen."""

from threading import Thread

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.json_rpc import Call, ChainUnavailable, JsonRpc, RpcRefused
from bounty_protocol.types import BlockNumber
from local_stack.anvil import AnvilServer
from service_common.chain.block_cache import BlockCache

from tests.clocks import HandClock
from tests.endpoints import endpoint_before


class CountingRpc(JsonRpc):
    """Counts requests."""

    requests = 0

    def bounded(self, *, seconds: float, max_answer_bytes: int | None = None, patient: bool = False) -> JsonRpc:
        return self

    def batch(self, calls: list[Call]) -> list[object]:  # type: ignore[override]
        self.requests += 1
        return super().batch(calls)


def make(node: AnvilServer) -> tuple[BlockCache, CountingRpc, HandClock]:
    rpc, clock = CountingRpc([node.url]), HandClock()
    return BlockCache(rpc, clock, window=10, block_time=2.0), rpc, clock


def test_cache__asked_often_within_a_block__asks_the_chain_once(node: AnvilServer) -> None:
    node.mine(20)
    cache, rpc, _ = make(node)
    for _ in range(100):
        assert cache.head() == 20
        assert cache.hash_at(BlockNumber(15)) == header_at(JsonRpc([node.url]), BlockNumber(15)).hash
    assert rpc.requests == 2  # the tip, and one batched fill


def test_cache__after_a_new_block__takes_one_call(node: AnvilServer) -> None:
    node.mine(20)
    cache, rpc, clock = make(node)
    cache.head()
    node.mine(1)
    clock.sleep(2.0)
    before = rpc.requests
    assert cache.head() == 21
    assert rpc.requests == before + 1
    assert cache.hash_at(BlockNumber(10)) is None
    assert cache.hash_at(BlockNumber(11)) is not None


def test_cache__asked_for_a_number_above_its_head__refreshes_at_most_four_times_a_second(node: AnvilServer) -> None:
    node.mine(5)
    cache, rpc, clock = make(node)
    cache.head()
    node.mine(1)
    before = rpc.requests
    assert cache.hash_at(BlockNumber(6)) is None
    assert rpc.requests == before
    clock.sleep(0.25)
    assert cache.hash_at(BlockNumber(6)) is not None
    assert cache.hash_at(BlockNumber(7)) is None
    assert rpc.requests == before + 1


def test_cache__after_a_reorg__shows_the_new_chain(node: AnvilServer) -> None:
    node.mine(20)
    cache, _, clock = make(node)
    old = cache.hash_at(BlockNumber(20))
    JsonRpc([node.url]).call("anvil_reorg", 2, [])
    clock.sleep(2.0)
    new = cache.hash_at(BlockNumber(20))
    assert new is not None
    assert new != old
    assert new == header_at(JsonRpc([node.url]), BlockNumber(20)).hash


def test_cache__with_a_dead_node__raises_even_for_a_block_it_knows(node: AnvilServer) -> None:
    node.mine(5)
    cache, _, clock = make(node)
    assert cache.hash_at(BlockNumber(3)) is not None
    node.kill()
    clock.sleep(2.0)
    with pytest.raises(ChainUnavailable):
        cache.hash_at(BlockNumber(3))


def test_cache__while_the_chain_does_not_answer__asks_once_per_early_refresh(node: AnvilServer) -> None:
    cache, rpc, clock = make(node)
    cache.head()
    node.kill()
    clock.sleep(2.0)
    before = rpc.requests
    for _ in range(20):
        with pytest.raises(ChainUnavailable):
            cache.head()
    assert rpc.requests == before + 1
    clock.sleep(0.25)
    with pytest.raises(ChainUnavailable):
        cache.head()
    assert rpc.requests == before + 2


class Refusing(CountingRpc):
    """Answers every call with an error of its own, or blocks that do not link."""

    unlinked = False

    def batch(self, calls: list[Call]) -> list[object]:  # type: ignore[override]
        if not self.unlinked:
            return [RpcRefused(-32005, "limit exceeded")] * len(calls)
        numbers = ["0x5" if call[1][0] == "latest" else call[1][0] for call in calls]
        fixed = {"hash": "0x" + "11" * 32, "parentHash": "0x" + "22" * 32, "timestamp": "0x1"}
        return [{"number": number, **fixed} for number in numbers]


@pytest.mark.parametrize("unlinked", [False, True])
def test_cache__of_an_endpoint_that_refuses_or_lies__is_an_error_and_never_an_answer(unlinked: bool) -> None:
    rpc = Refusing(["http://127.0.0.1:9"])
    rpc.unlinked = unlinked
    cache = BlockCache(rpc, HandClock(), window=10, block_time=2.0)
    with pytest.raises(ChainUnavailable):
        cache.hash_at(BlockNumber(3))


def test_cache__while_one_caller_waits_for_the_chain__answers_the_others_for_one_more_block_time(
    node: AnvilServer,
) -> None:
    node.mine(20)
    cache, rpc, clock = make(node)
    known = cache.hash_at(BlockNumber(15))
    clock.sleep(2.0)
    seen: list[object] = []
    batch = rpc.batch

    def slow(calls: list[Call]) -> list[object]:
        rpc.batch = batch  # type: ignore[method-assign]
        others = [Thread(target=lambda: seen.append(cache.hash_at(BlockNumber(15)))) for _ in range(4)]
        for other in others:
            other.start()
        for other in others:
            other.join(timeout=5)
        assert seen == [known] * 4
        return batch(calls)

    rpc.batch = slow  # type: ignore[method-assign]
    assert cache.head() == 20
    assert seen == [known] * 4


def test_cache__of_two_endpoints__asks_the_other_after_an_answer_it_cannot_use(node: AnvilServer) -> None:
    node.mine(20)
    with endpoint_before(node.url) as broken, endpoint_before(node.url) as sound:
        broken.change = lambda _method, _params, _result: None  # null blocks
        clock = HandClock()
        cache = BlockCache(JsonRpc([broken.url, sound.url]), clock, window=10, block_time=2.0)
        with pytest.raises(ChainUnavailable):
            cache.head()
        clock.sleep(0.25)
        assert cache.head() == 20
        assert cache.hash_at(BlockNumber(15)) == header_at(JsonRpc([node.url]), BlockNumber(15)).hash
