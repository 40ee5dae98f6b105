"""A proxy before the node gives each wrong answer in turn: none becomes a fact, and each is counted.

A case is a way of answering wrong, when (the whole history, each new block, a reorg), at which of the calls, and of how
many endpoints. By default a few of them are tried, in a campaign all.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, mapping
from service_indexer.follower import advance
from service_indexer.merkle import EMPTY_ROOT
from service_indexer.source import RpcSource
from service_indexer.writer import Writer
from sqlalchemy import Engine

from tests.campaign import FULL, source
from tests.endpoints import Change, Endpoint, endpoint_before
from tests.indexer.replay import contents, fresh_copy
from tests.indexer.wrong_answers import BLOCK, LATE_SECONDS, LOGS, METHODS, PROOF, Once, Way, sealed, ways
from tests.servers import DatabaseServer
from tests.world import World

SAMPLE = 10
MOST_CALLS = 12
"""Later calls of a history are like the earlier ones."""
PATIENCE_SECONDS = LATE_SECONDS - 0.2
"""How long an answer that comes late is waited for."""
LONG_PATIENCE_SECONDS = 60.0
"""How long any other is, also on a machine that is busy: a wrong answer that nobody waited for is not counted."""


@dataclass
class Bench:
    """A copy that reads through two endpoints, the first of which may answer wrong."""

    world: World
    server: DatabaseServer
    endpoints: list[Endpoint]
    own: Engine
    """The world's own copy."""

    def source(self, count: int, patience: float = LONG_PATIENCE_SECONDS, quorum: int = 1) -> RpcSource:
        rpc = Rpc([each.url for each in self.endpoints[:count]]).bounded(seconds=patience, max_answer_bytes=1 << 24)
        return RpcSource(rpc, self.world.hub_address, quorum)

    @contextmanager
    def copy(self) -> Iterator[tuple[Writer, Engine]]:
        with fresh_copy(self.world, self.server) as made:
            yield made

    def truth(self) -> dict[str, list[tuple[object, ...]]]:
        """What the world's own copy has, whose endpoint answers true."""
        self.world.index()
        return contents(self.own)


@pytest.fixture
def bench(world: World, database_server: DatabaseServer) -> Iterator[Bench]:
    world.rpc.call("anvil_setBlockTimestampInterval", 1)
    for _ in range(2):
        world.submit(world.create(seconds=100_000), world.solver(1))
    world.finalize()
    with ExitStack() as stack:
        endpoints = [stack.enter_context(endpoint_before(world.node.url)) for _ in range(2)]
        yield Bench(world, database_server, endpoints, world.engine("service_indexer"))


def run(chain: RpcSource, writer: Writer, tries: int = 12) -> bool:
    """Follow to the tip as the job does; whether it was reached."""
    for _ in range(tries):
        try:
            while advance(chain, writer):
                pass
        except ChainUnavailable:
            chain.distrust()
        else:
            return True
    return False


def backfill(_bench: Bench) -> None:
    """Nothing happens: the whole history is new."""


def new_blocks(bench: Bench) -> None:
    bench.world.submit(bench.world.open_bounties[-1], bench.world.solver(2))


def reorg(bench: Bench) -> None:
    """The newest Submission is gone, and another one there."""
    world = bench.world
    world.rpc.call("anvil_reorg", 1, [])
    world.solver(2).forget_nonce()
    world.submit(world.open_bounties[-1], world.solver(2))


PHASES: dict[str, Callable[[Bench], None]] = {"backfill": backfill, "tip": new_blocks, "reorg": reorg}


Case = tuple[str, Way, int, range]
"""When, how, of how many endpoints, and at which calls, one after the other until there are no more."""


def cases() -> list[Case]:
    every = [(phase, way, count) for phase in PHASES for way in ways() for count in (1, 2)]
    if FULL:
        return [(*each, range(1, MOST_CALLS + 1)) for each in every]
    dice = source("wrong answers")
    return [(*each, range(place, place + 1)) for each in dice.sample(every, SAMPLE) for place in [dice.choice((1, 2))]]


@pytest.mark.attack
def test_wrong_answer__to_any_call__becomes_no_fact_and_is_counted(bench: Bench) -> None:
    tried = 0
    for phase, way, count, places in cases():
        for place in places:
            given = give(bench, phase, way, count, place)
            tried += given
            if given == 0:  # so many calls there are not
                break
    assert tried >= (200 if FULL else SAMPLE // 2)


def patience(way: Way) -> float:
    """For how many seconds a copy waits for an answer."""
    return PATIENCE_SECONDS if way.name == "late" else LONG_PATIENCE_SECONDS


def give(bench: Bench, phase: str, way: Way, count: int, place: int) -> int:
    """A copy is made while one call is answered wrong, and is true; how many were."""
    liar = bench.endpoints[0]
    with bench.copy() as (writer, engine):
        if phase != "backfill":
            new_blocks(bench)
            assert run(bench.world.source, writer)
            PHASES[phase](bench)
        liar.change = wrong = Once(bench.world.rpc, way, place)
        chain = bench.source(count, patience(way))
        reached = run(chain, writer)
        liar.change = Endpoint.change
        case = f"{phase}, {way}, call {place} of {count} endpoints"
        assert reached, case
        assert contents(engine) == bench.truth(), case
        endpoint, *others = chain._chain.rpc.endpoints.all
        assert not any(each.contradictions for each in others), case
        assert endpoint.contradictions >= (wrong.given if way.counts else 0), case
        assert way.counts or endpoint.contradictions == 0, case
        return wrong.given


@pytest.mark.attack
@pytest.mark.parametrize("count", [1, 2])
def test_wrong_answers__that_never_end__stop_a_copy_of_one_endpoint_and_cost_one_of_two_nothing(
    bench: Bench, count: int
) -> None:
    truth = bench.truth()
    every = list(ways())
    chosen = every if FULL else source("wrong for good").sample(every, 4)
    for way in chosen:
        wrong = Once(bench.world.rpc, way, 1, for_good=True)
        bench.endpoints[0].change = wrong
        with bench.copy() as (writer, engine):
            reached = run(bench.source(count, patience(way)), writer, tries=4 if count == 1 else 30)
            found = contents(engine)
            assert all(set(map(repr, rows)) <= set(map(repr, truth[name])) for name, rows in found.items()), way
            assert reached or count == 1, way
            assert not reached or found == truth, way


def invented_above(node: Rpc, known: int) -> Change:
    """A branch of the endpoint's own above block ``known``: nothing happens in it, and all of it fits together."""
    root = mapping(node.call(BLOCK, hex(known), False))["stateRoot"]
    made: dict[int, dict[str, Any]] = {}

    def change(method: str, params: list[Any], result: Any) -> Any:
        if method == LOGS:
            return []
        if method == PROOF and int(params[2], 16) > known:
            return node.call(PROOF, params[0], params[1], hex(known))
        if method != BLOCK or not isinstance(result, dict) or int(result["number"], 16) <= known:
            return result
        number = int(result["number"], 16)
        parent = made.get(number - 1, {}).get("hash", result["parentHash"])
        nothing = {"stateRoot": root, "receiptsRoot": EMPTY_ROOT, "logsBloom": "0x" + "00" * 256}
        made[number] = sealed(result | nothing | {"parentHash": parent})
        return made[number]

    return change


@pytest.mark.attack
@pytest.mark.parametrize("quorum", [1, 2])
def test_invented_branch__is_believed_of_one_endpoint_and_refused_with_two(bench: Bench, quorum: int) -> None:
    known = bench.world.writer.head()
    assert known is not None
    with bench.copy() as (writer, engine):
        chain = bench.source(2, quorum=quorum)
        assert run(chain, writer)
        before = contents(engine)
        new_blocks(bench)
        bench.endpoints[0].change = invented_above(bench.world.rpc, known.block_number)
        reached = run(chain, writer, tries=6)
        head = writer.head()
        assert head is not None
        assert reached is (quorum == 1)
        assert contents(engine) == before  # of one: without the Submission that is on the chain
        assert (head.block_number > known.block_number) is (quorum == 1)


@pytest.mark.attack
def test_late_answers__of_one_endpoint__cost_time_and_nothing_else(bench: Bench) -> None:
    bench.endpoints[0].hang_seconds = PATIENCE_SECONDS * 1.5
    with bench.copy() as (writer, engine):
        assert run(bench.source(2, PATIENCE_SECONDS), writer)
        assert contents(engine) == bench.truth()
    assert set(bench.endpoints[1].asked) <= set(METHODS)


@pytest.mark.attack
def test_empty_list_of_a_range__that_another_query_contradicts__is_counted(bench: Bench) -> None:
    (empty,) = (way for way in ways() if (way.method, way.name) == (LOGS, "empty"))
    assert give(bench, "backfill", empty, count=1, place=1) == 1
