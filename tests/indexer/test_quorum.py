"""Several endpoints, some of which lie, lag, hang or break: the copy follows those that agree, or says it cannot."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.endpoints import TOLERATED_LAG
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from bounty_protocol.types import BlockNumber, Bytes32
from service_common.config import ConfigurationError
from service_indexer import chain as chain_module
from service_indexer import source as source_module
from service_indexer.chain import LATE_SECONDS
from service_indexer.conduct import conduct_of
from service_indexer.config import read_config
from service_indexer.follower import advance
from service_indexer.quorum import FINAL_LAG_SECONDS
from service_indexer.source import RpcSource
from service_indexer.stretch import BLOCKS_PER_STEP
from service_indexer.writer import Writer

from tests.endpoints import Change, Endpoint, Refusal, endpoint_before
from tests.indexer.lying import LyingSource
from tests.indexer.replay import contents, fresh_copy
from tests.providers import provider_before
from tests.servers import DatabaseServer
from tests.waiting import wait_until
from tests.world import World

OTHER_HASH = "0x" + "66" * 32


@pytest.fixture
def endpoints(world: World) -> Iterator[list[Endpoint]]:
    """Three endpoints before the world's node."""
    with ExitStack() as stack:
        yield [stack.enter_context(endpoint_before(world.node.url)) for _ in range(3)]


def source_of(world: World, endpoints: list[Endpoint], quorum: int, *, proven: bool = True) -> RpcSource:
    """A source that asks these endpoints; nothing waits longer than a second."""
    rpc = Rpc([each.url for each in endpoints]).bounded(seconds=1.0, max_answer_bytes=1 << 24)
    return RpcSource(rpc, world.hub_address, quorum, proven=proven)


def run(source: RpcSource, writer: Writer) -> None:
    """Follow to the tip as the job does: after an unusable answer another endpoint is asked first."""
    for _ in range(20):
        try:
            while advance(source, writer):
                pass
        except ChainUnavailable:
            source.distrust()
        else:
            return
    raise AssertionError("the copy never caught up")


def history(world: World) -> None:
    for _ in range(3):
        world.submit(world.create(), world.solver(1))
    world.finalize()


def hash_changed(method: str, params: list[Any], result: Any) -> Any:
    """Another hash for every block that is asked for by number."""
    if method == "eth_getBlockByNumber" and str(params[0]).startswith("0x"):
        return {**result, "hash": OTHER_HASH}
    return result


def last_log_left_out(method: str, _params: list[Any], result: Any) -> Any:
    return result[:-1] if method == "eth_getLogs" else result


def test_finality__of_a_quorum__is_the_newest_block_that_two_of_three_call_final(
    world: World, endpoints: list[Endpoint]
) -> None:
    history(world)
    final = header_at(world.rpc, "finalized")
    early = header_at(world.rpc, BlockNumber(final.number - 2))

    def eager(_method: str, params: list[Any], result: Any) -> Any:
        return world.rpc.call("eth_getBlockByNumber", "latest", False) if params[0] == "finalized" else result

    def late(_method: str, params: list[Any], result: Any) -> Any:
        return world.rpc.call("eth_getBlockByNumber", hex(early.number), False) if params[0] == "finalized" else result

    endpoints[0].change, endpoints[2].change = eager, late
    assert source_of(world, endpoints, 2).tip().finalized == final
    assert source_of(world, endpoints, 3).tip().finalized == early


def standing_still(world: World) -> Change:
    """The block that is final now is final for good."""
    final = world.rpc.call("eth_getBlockByNumber", "finalized", False)
    return lambda _method, params, result: final if params[0] == "finalized" else result


def test_finality__of_a_quorum__moves_where_the_first_endpoints_stands_still(
    world: World, endpoints: list[Endpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    history(world)
    monkeypatch.setattr(source_module, "COMPARE_SECONDS", 0.0)
    source = source_of(world, endpoints, 2)
    endpoints[0].change = standing_still(world)
    assert source.tip().finalized == header_at(world.rpc, "finalized")
    history(world)
    assert source.tip().finalized == header_at(world.rpc, "finalized")


@pytest.mark.parametrize("seconds", [FINAL_LAG_SECONDS - 100, FINAL_LAG_SECONDS + 100])
def test_finality__that_stands_still_at_one_endpoint__is_anothers_after_a_while(
    world: World, endpoints: list[Endpoint], monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    world.finalize()
    monkeypatch.setattr(source_module, "COMPARE_SECONDS", 0.0)
    source = source_of(world, endpoints, 1)
    before = source.tip().finalized
    endpoints[0].change = standing_still(world)
    assert before is not None
    world.advance_to(before.time + seconds)
    world.node.mine(2 + TOLERATED_LAG)
    newest = header_at(world.rpc, "finalized")
    for _ in range(2):  # the first look has it noticed
        final = source.tip().finalized
    assert final == (newest if seconds > FINAL_LAG_SECONDS else before)


def test_finality__where_one_endpoint_shows_another_block__it_is_outvoted_and_asked_last(
    world: World, endpoints: list[Endpoint]
) -> None:
    history(world)
    endpoints[0].change = hash_changed
    source = source_of(world, endpoints, 2)
    assert source.tip().finalized == header_at(world.rpc, "finalized")
    liar, *honest = source._chain.rpc.endpoints.all
    assert liar.contradictions == 1
    assert source._chain.rpc.endpoints.in_order()[-1] is liar
    assert not any(each.contradictions for each in honest)


def test_headers__of_which_a_quorum_shows_the_first__are_these(world: World, endpoints: list[Endpoint]) -> None:
    world.node.mine(10)
    last = header_at(world.rpc, "latest").number
    first = BlockNumber(last - 9)

    def ends(at: int) -> Change:
        def change(method: str, params: list[Any], result: Any) -> Any:
            return None if method == "eth_getBlockByNumber" and int(params[0], 16) > at else result

        return change

    endpoints[0].change, endpoints[1].change, endpoints[2].change = ends(last - 2), ends(last - 5), hash_changed
    for quorum, until in ((1, last - 2), (2, last - 5)):
        found = source_of(world, endpoints, quorum).headers_from(first, last)
        assert found == world.source.headers(first, BlockNumber(until))
    with pytest.raises(ChainUnavailable):
        source_of(world, endpoints, 3).headers_from(first, last)


def test_finality__without_a_quorum__moves_nothing_to_final_while_the_copy_goes_on(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer
) -> None:
    history(world)
    endpoints[0].change, endpoints[1].raw = hash_changed, (500, b"")
    source = source_of(world, endpoints[1:], 2)
    with fresh_copy(world, database_server) as (writer, _):
        before = writer.head()
        endpoints[2].change = lambda _method, _params, result: result
        run(source_of(world, endpoints[2:], 1), writer)
        after = writer.head()
        assert before is not None
        assert after is not None
        assert after.finalized_number > before.finalized_number
        history(world)
        with pytest.raises(ChainUnavailable, match="too few"):
            advance(source, writer)  # its logs need two endpoints
        halfway = writer.head()
        assert halfway is not None
        assert halfway.finalized_number == after.finalized_number


def test_logs__that_any_one_endpoint_of_three_leaves_out__are_in_the_copy(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer
) -> None:
    history(world)
    honest = endpoints[0].change
    for liar in endpoints:
        liar.change = last_log_left_out
        with fresh_copy(world, database_server) as (writer, engine):
            run(source_of(world, endpoints, 2), writer)
            assert contents(engine) == contents(world.engine("service_indexer"))
        liar.change = honest


@pytest.mark.parametrize("proven", [True, False])
def test_logs__left_out_by_the_only_endpoint_asked__are_noticed_where_they_are_proven(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer, proven: bool
) -> None:
    history(world)
    endpoints[0].change = last_log_left_out
    with fresh_copy(world, database_server) as (writer, engine):
        run(source_of(world, endpoints[:1], 1, proven=proven), writer)
        assert (contents(engine) == contents(world.engine("service_indexer"))) is proven


def log_without_data(method: str, _params: list[Any], result: Any) -> Any:
    if method == "eth_getLogs" and result:
        return [*result[:-1], {**result[-1], "data": "0x01"}]
    return result


def log_twice(method: str, _params: list[Any], result: Any) -> Any:
    """The last log, again under another index."""
    if method == "eth_getLogs" and result:
        return [*result, {**result[-1], "logIndex": hex(int(result[-1]["logIndex"], 16) + 1)}]
    return result


@pytest.mark.attack
@pytest.mark.parametrize("change", [log_without_data, log_twice])
def test_logs__that_the_hub_cannot_emit__have_the_next_endpoint_asked(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer, change: Change
) -> None:
    world.create()
    world.finalize()
    endpoints[0].change = change
    with fresh_copy(world, database_server) as (writer, engine):
        run(source_of(world, endpoints[:2], 1, proven=False), writer)
        assert contents(engine) == contents(world.engine("service_indexer"))


def refusing_above(blocks: int) -> Change:
    """Lists the logs of at most so many blocks at once."""

    def change(method: str, params: list[Any], result: Any) -> Any:
        if method != "eth_getLogs" or "toBlock" not in params[0]:
            return result
        first, last = (int(params[0][end], 16) for end in ("fromBlock", "toBlock"))
        return result if last - first < blocks else Refusal(-32005, "query returned more than 10000 results")

    return change


@pytest.mark.parametrize("limits", [(0, None, None), (None, 0, None), (2, 3, None), (1, 1, 1)])
def test_range__that_endpoints_refuse__is_what_the_others_list_or_comes_in_parts(
    world: World, endpoints: list[Endpoint], limits: tuple[int | None, ...]
) -> None:
    history(world)
    for each, limit in zip(endpoints, limits, strict=True):
        if limit is not None:
            each.change = refusing_above(limit)
    last = header_at(world.rpc, "finalized").number
    found = source_of(world, endpoints, 2).logs_of_range(BlockNumber(0), last)
    assert found == source_of(world, [Endpoint(world.node.url)], 1).logs_of_range(BlockNumber(0), last)
    assert len(found.logs) >= 6


def test_range__that_too_few_list_however_short__is_unavailable(world: World, endpoints: list[Endpoint]) -> None:
    history(world)
    for each in endpoints[:2]:
        each.change = refusing_above(0)
    with pytest.raises(ChainUnavailable):
        source_of(world, endpoints, 2).logs_of_range(BlockNumber(0), header_at(world.rpc, "finalized").number)


def invented(block: dict[str, Any], known: int) -> dict[str, Any]:
    """Above block ``known`` a chain of the endpoint's own, without a log."""

    def hash_at(number: int) -> str:
        return "0x" + number.to_bytes(32, "big").hex()

    number = int(block["number"], 16)
    parent = block["parentHash"] if number == known + 1 else hash_at(number - 1)
    return {**emptied(block, known), "hash": hash_at(number), "parentHash": parent}


def emptied(block: dict[str, Any], _known: int) -> dict[str, Any]:
    """The true block, with a filter that admits nothing."""
    return {**block, "logsBloom": "0x" + "00" * 256}


def late(block: dict[str, Any], _known: int) -> dict[str, Any]:
    """The true block at another time."""
    return {**block, "timestamp": hex(int(block["timestamp"], 16) + 1)}


@pytest.mark.parametrize("lie", [invented, emptied, late])
def test_headers__about_which_the_first_endpoint_of_three_lies__are_never_in_the_copy(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer, lie: Callable[[Any, int], Any]
) -> None:
    with fresh_copy(world, database_server) as (writer, engine):
        run(source_of(world, endpoints, 2), writer)
        before = writer.head()
        assert before is not None
        known = before.block_number

        def change(method: str, params: list[Any], result: Any) -> Any:
            if method != "eth_getBlockByNumber" or not result or int(result["number"], 16) <= known:
                return result
            if params[0] == "finalized":  # an old one, so that nobody compares its newer ones
                return world.rpc.call(method, hex(known), False)
            return lie(result, known)

        endpoints[0].change = change
        for _ in range(3):  # read while they are not final yet
            world.submit(world.create(), world.solver(1))
            run(source_of(world, endpoints, 2), writer)
        world.finalize()
        run(source_of(world, endpoints, 2), writer)
        after = writer.head()
        assert after is not None
        assert after.finalized_number == header_at(world.rpc, "finalized").number
        assert contents(engine) == contents(world.engine("service_indexer"))


@pytest.mark.parametrize("place", [-1, 0, 2], ids=["kept", "head", "new"])
def test_finality__of_another_block_than_the_copys__is_refused_and_of_the_same_taken(world: World, place: int) -> None:
    before = world.writer.head()
    assert before is not None
    world.node.mine(3)
    final = header_at(world.rpc, BlockNumber(before.block_number + place))
    other = replace(final, hash=Bytes32(OTHER_HASH))
    with pytest.raises(ChainUnavailable, match="another final block"):
        advance(LyingSource(world.source, change_tip=lambda tip: replace(tip, finalized=other)), world.writer)
    assert world.writer.head() == before
    advance(LyingSource(world.source, change_tip=lambda tip: replace(tip, finalized=final)), world.writer)
    after = world.writer.head()
    assert after is not None
    assert after.finalized_number == final.number


def test_copy__of_a_quorum_of_which_one_is_behind__is_as_far_as_that_one(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer
) -> None:
    history(world)
    newest = world.rpc.call("eth_getBlockByNumber", "latest", False)
    number = header_at(world.rpc, "latest").number

    def behind(method: str, params: list[Any], result: Any) -> Any:
        if method != "eth_getBlockByNumber" or not result or int(result["number"], 16) <= number:
            return result
        return newest if params[0] == "latest" else None

    world.node.mine(2)
    endpoints[1].change = behind
    with fresh_copy(world, database_server) as (writer, _):
        source = source_of(world, endpoints[:2], 2)
        for expected in (number, number + 2):
            run(source, writer)
            head = writer.head()
            assert head is not None
            assert head.block_number == expected
            endpoints[1].change = endpoints[2].change  # it has caught up


NULL_BLOCKS = "null blocks"
BROKEN = {
    NULL_BLOCKS: None,
    "server error": (500, b"down"),
    "rate limit": (429, b"slow down"),
    "page": (200, b"<html>"),
    "cut short": (200, b'{"jsonrpc":"2.0","id":0,"resu'),
    "other id": (200, b'{"jsonrpc":"2.0","id":99,"result":"0x1"}'),
}


def test_endpoint__that_breaks_first_in_the_list__costs_time_and_nothing_else(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer
) -> None:
    history(world)
    for way, raw in BROKEN.items():
        endpoints[0].raw = raw
        if way == NULL_BLOCKS:
            endpoints[0].change = lambda method, _params, result: None if method == "eth_getBlockByNumber" else result
        with fresh_copy(world, database_server) as (writer, engine):
            source = source_of(world, endpoints, 1)
            run(source, writer)
            assert contents(engine) == contents(world.engine("service_indexer")), way
            assert source._chain.rpc.endpoints.preferred.place != 1, way


def test_endpoint__that_hangs__is_left_alone_afterwards(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer
) -> None:
    history(world)
    endpoints[0].hang_seconds = 3.0
    with fresh_copy(world, database_server) as (writer, engine):
        run(source_of(world, endpoints, 1), writer)
        assert contents(engine) == contents(world.engine("service_indexer"))
    honest = len(endpoints[1].asked) + len(endpoints[2].asked)
    assert 3 * len(endpoints[0].asked) < honest, "it was asked again and again"


@pytest.mark.attack(f"waiting for an RPC endpoint that hangs, where enough others answer: {LATE_SECONDS:g} s, once")
@pytest.mark.parametrize("quorum", [1, 2])
def test_endpoint__that_hangs__holds_up_one_look_and_none_after_it(
    world: World, endpoints: list[Endpoint], monkeypatch: pytest.MonkeyPatch, quorum: int
) -> None:
    history(world)
    monkeypatch.setattr(source_module, "COMPARE_SECONDS", 0.0)
    with provider_before(world.node.url) as hanging:
        hanging.hang()
        urls = [endpoints[0].url, hanging.url, endpoints[1].url]
        rpc = Rpc(urls).bounded(seconds=5.0, max_answer_bytes=1 << 24)
        source, second = RpcSource(rpc, world.hub_address, quorum), rpc.endpoints.all[1]
        for _ in range(3):
            assert source.tip().finalized == header_at(world.rpc, "finalized")
        assert len(source.headers(BlockNumber(0), BlockNumber(3))) == 4
        assert (hanging.requests, second.failures) == (1, 0), "it still hangs, and is not queried beside that"
        wait_until(lambda: second.failures == 1 and second.rests_until < time.monotonic())
        monkeypatch.setattr(chain_module, "LATE_SECONDS", 60.0)
        source.tip()
        wait_until(lambda: hanging.requests == 2)
        assert second.failures == 1, "after a failure nobody waits for it"


def test_endpoint__that_is_late_beside_others__goes_on_to_be_preferred(world: World, endpoints: list[Endpoint]) -> None:
    chain = source_of(world, endpoints, 1)._chain
    late: Future[object] = Future()
    chain._sent[1] = late
    assert [endpoint.place for endpoint, _ in chain.answers(lambda module: module.header("latest"))] == [2, 3, 1]
    assert chain.rpc.endpoints.preferred.place == 1
    late.set_result(None)
    assert next(chain.answers(lambda module: module.header("latest")))[0].place == 1


def test_endpoint__that_failed_and_answers_again__is_not_reported_as_failing_though_others_are_queried_first(
    world: World, endpoints: list[Endpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_module, "COMPARE_SECONDS", 0.0)
    source = source_of(world, endpoints, 1)
    first, second, _ = source._chain.rpc.endpoints.all

    def failures() -> int:
        place, _, failures, *_ = json.loads(conduct_of(source._chain.rpc.endpoints))[1]
        assert place == 2
        return int(failures)

    endpoints[1].raw = (500, b"down")
    source.tip()
    wait_until(lambda: failures() == 1 and second.rests_until < time.monotonic())
    endpoints[1].raw = None
    source.tip()
    wait_until(lambda: failures() == 0)
    assert source._chain.rpc.endpoints.preferred is first


def test_endpoint__that_answers_from_an_old_head__is_asked_after_the_others(
    world: World, endpoints: list[Endpoint]
) -> None:
    old = world.rpc.call("eth_getBlockByNumber", "latest", False)
    world.node.mine(10)
    endpoints[0].change = lambda _method, params, result: old if params[0] == "latest" else result
    source = source_of(world, endpoints, 1)
    source._chain.rpc.endpoints.all[0].failures = 0
    with pytest.raises(ChainUnavailable):  # it calls final what it has not produced
        source_of(world, endpoints[:1], 1).tip()
    source.tip()
    assert source.tip().latest == header_at(world.rpc, "latest")


def with_latest(number: int) -> Change:
    """An invented newest block."""

    def change(method: str, params: list[Any], result: Any) -> Any:
        if method == "eth_getBlockByNumber" and params[0] == "latest":
            return {**result, "number": hex(number), "hash": OTHER_HASH}
        return result

    return change


@pytest.mark.attack(f"blocks that one endpoint's invented tip has the others queried for: {TOLERATED_LAG}")
def test_tip__that_one_of_three_invents__is_refused_and_has_no_other_called_behind(
    world: World, endpoints: list[Endpoint], database_server: DatabaseServer
) -> None:
    history(world)
    with fresh_copy(world, database_server) as (writer, _):
        source = source_of(world, endpoints, 2, proven=False)
        run(source, writer)
        endpoints[0].change = with_latest(1 << 62)
        world.node.mine(1)
        for each in endpoints:
            each.asked.clear()
        run(source, writer)
        head = writer.head()
        assert head is not None
        assert head.block_hash == header_at(world.rpc, "latest").hash
        assert len(endpoints[1].asked) < BLOCKS_PER_STEP / 2
        assert [each.lag for each in source._chain.rpc.endpoints.all] == [0, 0, 0]


@pytest.mark.parametrize("ahead", [TOLERATED_LAG, TOLERATED_LAG + 1])
def test_tip__ahead_of_what_a_quorum_shows__is_taken_where_news_may_only_be_late(
    world: World, endpoints: list[Endpoint], ahead: int
) -> None:
    history(world)
    before, old = header_at(world.rpc, "latest"), world.rpc.call("eth_getBlockByNumber", "latest", False)
    final = world.rpc.call("eth_getBlockByNumber", "finalized", False)
    world.node.mine(ahead)
    for each in endpoints:
        each.change = lambda _method, params, result: final if params[0] == "finalized" else result
    endpoints[1].change = endpoints[2].change = lambda _method, params, result: {"latest": old, "finalized": final}.get(
        params[0], result
    )
    source = source_of(world, endpoints, 2)
    if ahead > TOLERATED_LAG:
        with pytest.raises(ChainUnavailable, match="ahead"):
            source.tip()
        source.distrust()
        assert source.tip().latest == before
    else:
        assert source.tip().latest == header_at(world.rpc, "latest")


def test_finality__on_a_chain_without_the_tag__is_a_configured_depth(world: World, endpoints: list[Endpoint]) -> None:
    history(world)
    for each in endpoints:  # as a node answers a tag that it does not know
        each.change = lambda _method, params, result: None if params[0] == "finalized" else result
    latest = header_at(world.rpc, "latest").number
    rpc = Rpc([each.url for each in endpoints])
    for quorum in (1, 3):
        tip = RpcSource(rpc, world.hub_address, quorum, finality_depth=5).tip()
        assert tip.finalized == header_at(world.rpc, BlockNumber(latest - 5))
    with pytest.raises(ChainUnavailable):
        RpcSource(rpc, world.hub_address).tip()


def test_quorum__above_the_number_of_endpoints__is_a_configuration_error() -> None:
    environment = {
        "SERVICE_CHAIN_ID": "31337",
        "SERVICE_HUB_ADDRESS": "0x" + "11" * 20,
        "SERVICE_BLOCK_TIME_SECONDS": "1",
        "SERVICE_RPC_URLS": "http://one.example,http://two.example",
        "SERVICE_DATABASE_URL": "postgresql://nowhere",
        "SERVICE_REDIS_URL": "redis://nowhere",
    }
    assert read_config(environment | {"SERVICE_RPC_QUORUM": "2"}).rpc_quorum == 2
    assert read_config(environment).chain.finality_depth is None
    assert read_config(environment | {"SERVICE_FINALITY_DEPTH": "64"}).chain.finality_depth == 64
    with pytest.raises(ConfigurationError, match="SERVICE_FINALITY_DEPTH is malformed"):
        read_config(environment | {"SERVICE_FINALITY_DEPTH": "0"})
    with pytest.raises(ConfigurationError, match="SERVICE_RPC_QUORUM asks for more endpoints"):
        read_config(environment | {"SERVICE_RPC_QUORUM": "3"})
    for other in ("http://one.example/", "http://ONE.example:80", "http://a b", "http://a;http://b"):
        with pytest.raises(ConfigurationError, match=r"SERVICE_RPC_URLS is malformed: .* each once"):
            read_config(environment | {"SERVICE_RPC_URLS": f"http://one.example,{other}"})
    assert read_config(environment).proofs
    assert not read_config(environment | {"SERVICE_RPC_PROOFS": "off"}).proofs
    with pytest.raises(ConfigurationError, match="SERVICE_RPC_PROOFS is malformed"):
        read_config(environment | {"SERVICE_RPC_PROOFS": "no"})
    with pytest.raises(ConfigurationError, match="SERVICE_RPC_QUORUM is malformed"):
        read_config(environment | {"SERVICE_RPC_QUORUM": "0"})
