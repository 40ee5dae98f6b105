"""The follower's steps as traces of their own, however long it follows."""

from collections.abc import Iterator

import pytest
from bounty_protocol.chain import json_rpc
from bounty_protocol.chain.json_rpc import JsonRpc
from service_common.traces import port as traces
from service_common.traces.settings import TraceSettings, parse_endpoint
from service_common.traces.setup import start_traces
from service_indexer.chain import ChainReader
from service_indexer.follower import advance
from service_indexer.source import RpcSource

from tests.fakes.collector import Collector
from tests.world import World


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """Traces of this process, for one test."""
    collector, watch = Collector(), json_rpc.watch
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    start_traces("indexer", TraceSettings(parse_endpoint(collector.url)))
    yield collector
    assert traces.used.tracer is not None
    traces.used.tracer.close(5)
    traces.used.tracer, json_rpc.watch = None, watch
    collector.close()


def test_following__a_chain_that_moves_and_rests__is_one_trace_for_each_step(
    world: World, collector: Collector
) -> None:
    source = RpcSource(JsonRpc([world.node.url] * 2), world.hub_address, 2)
    steps = 0
    for _ in range(3):
        world.create()
        while advance(source, world.writer):
            steps += 1
    assert not advance(source, world.writer)

    def found(name: str) -> int:
        return sum(span.name == name for span in collector.spans())

    spans = collector.wait(lambda _: found("index step") == steps >= 3)
    roots = {span.span: span for span in spans if span.parent == ""}
    assert {span.name for span in roots.values()} == {"index step"}  # looking for work is no trace
    asked = [span for span in spans if span.attributes.get("rpc.system") == "jsonrpc"]
    assert asked
    assert all(span.trace == roots[span.parent].trace for span in asked)


def test_endpoints__asked_side_by_side__belong_to_the_step_that_asks(world: World, collector: Collector) -> None:
    with traces.step("asking", {}):
        ChainReader(JsonRpc([world.node.url] * 3)).answers_of_all(lambda chain: chain.headers(["latest", "finalized"]))
    spans = {span.attributes.get("rpc.endpoint", 0): span for span in collector.wait(lambda spans: len(spans) == 4)}
    assert [spans[place].parent for place in (1, 2, 3)] == [spans[0].span] * 3
    assert spans[1].attributes["rpc.method"] == "eth_getBlockByNumber"
