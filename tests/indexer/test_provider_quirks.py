"""The index behind a provider with quirks, one to three at once: in the end it is what the node itself has."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest
import urllib3
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc
from service_indexer.follower import advance
from service_indexer.source import RpcSource
from service_indexer.writer import Writer

from tests.campaign import size, source
from tests.indexer.replay import contents, fresh_copy, replayed
from tests.providers import NO_METHOD, NO_PROOF, RANGE_LIMITS, ProviderTwin, provider_before
from tests.servers import DatabaseServer
from tests.world import World

PLAYS = size(2, 120)
ANSWER_SECONDS = 0.5
MOST_STEPS = 400
"""Of one move of the index; a provider that is never of use takes more."""

Draw = Callable[[ProviderTwin, Random], object]


def _by_two_nodes(twin: ProviderTwin, random: Random) -> None:
    """By lot: in turn, a step of the index that has an even number of requests would always meet the same node."""
    lot = random.random()
    twin.answer_by_two_nodes(random.choice((1, 2, 40)), lambda place: Random(f"{lot}/{place}").random() < 0.5)


QUIRKS: dict[str, Draw] = {
    "short ranges": lambda twin, random: twin.limit_ranges(
        random.choice((1, 3, 10)), random.choice(list(RANGE_LIMITS.values()))[1]
    ),
    "small batches": lambda twin, random: twin.limit_batches(random.choice((2, 3, 10))),
    "batches in another order": lambda twin, _: twin.shuffle(),
    "no `safe`": lambda twin, _: twin.lack(NO_METHOD, "safe"),
    "no receipts": lambda twin, _: twin.lack(NO_METHOD, "eth_getBlockReceipts"),
    "pruned receipts": lambda twin, random: twin.prune(random.choice((2, 20)), "eth_getBlockReceipts"),
    "pruned receipts, null": lambda twin, random: twin.prune(
        random.choice((2, 20)), "eth_getBlockReceipts", error=None
    ),
    "no proofs": lambda twin, _: twin.lack(NO_METHOD, "eth_getProof"),
    "proofs of few blocks": lambda twin, random: twin.prune(random.choice((1, 20)), "eth_getProof", error=NO_PROOF),
    "two nodes": _by_two_nodes,
    "limited, with Retry-After": lambda twin, random: twin.limit_rate(random.choice((9, 30)), 3, retry_after="3"),
    "limited, without": lambda twin, random: twin.limit_rate(random.choice((9, 30)), 3, retry_after=None),
    "limited, by an error": lambda twin, random: twin.limit_rate(
        random.choice((9, 30)), 3, retry_after=None, by_status=False
    ),
    "a hang now and then": lambda twin, random: twin.hang_every(random.choice((17, 41))),
}


OF_AN_UNFIT_ONE = {name for name in QUIRKS if name.startswith(("two nodes", "limited", "a hang"))}
"""At most one at once: behind two of them the index may need more steps than a test has."""


def _draw(random: Random) -> list[str]:
    chosen = random.sample(list(QUIRKS), random.choice((1, 1, 2, 3)))
    unfit = [name for name in chosen if name in OF_AN_UNFIT_ONE]
    return [name for name in chosen if name not in unfit[1:]]


@dataclass
class Patience:
    """A time that passes where the index waits."""

    seconds: float = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """As the index waits before it asks again."""
        self.seconds += seconds


@pytest.mark.parametrize("play", range(PLAYS))
def test_index__behind_a_provider_with_quirks__is_what_the_node_has(
    world: World, database_server: DatabaseServer, monkeypatch: pytest.MonkeyPatch, play: int
) -> None:
    random, patience = source(f"provider quirks/{play}"), Patience()
    monkeypatch.setattr(time, "sleep", patience.sleep)
    chosen = _draw(random)
    with (
        provider_before(world.node.url, patience.monotonic) as twin,
        fresh_copy(world, database_server) as (writer, engine),
    ):
        for name in chosen:
            QUIRKS[name](twin, random)
        timeout = urllib3.Timeout(connect=ANSWER_SECONDS, read=ANSWER_SECONDS)
        rpc = Rpc([twin.url], timeout=timeout, answer_seconds=ANSWER_SECONDS)
        shown = RpcSource(rpc, world.hub_address)
        for happening in _history(world, random):
            happening()
            _catch_up(world, shown, writer, patience, chosen)
        assert contents(engine) == replayed(world, database_server), chosen


def _history(world: World, random: Random) -> list[Callable[[], object]]:
    """What happens on the chain, and the index gets to see."""

    def bounties() -> None:
        world.solver(1).forget_nonce()
        for _ in range(random.choice((1, 3))):
            world.submit(world.create(), world.solver(1))

    return [
        bounties,
        lambda: world.node.mine(60),
        bounties,
        lambda: world.rpc.call("anvil_reorg", 1, []),
        bounties,
        world.finalize,
    ]


def _catch_up(world: World, shown: RpcSource, writer: Writer, patience: Patience, chosen: list[str]) -> None:
    newest = header_at(world.rpc, "latest")
    for _ in range(MOST_STEPS):
        head = writer.head()
        if head is not None and head.block_hash == newest.hash:
            return
        try:
            advance(shown, writer)
        except ChainUnavailable:
            shown.distrust()
            patience.seconds += 1
    raise AssertionError(f"the index does not reach the newest block behind {chosen}")
