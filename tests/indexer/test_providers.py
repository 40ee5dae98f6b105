"""What a provider may refuse, each row before the index: in the end the copy is what the node itself has."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest
import urllib3
from bounty_protocol.chain.blocks import header_at
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, block_number
from bounty_protocol.types import BlockNumber
from service_indexer.chain import RpcChain
from service_indexer.follower import Follower
from service_indexer.writer import Writer

from tests.campaign import FULL, size, source
from tests.cli.servers import Params
from tests.indexer.replay import contents, fresh_copy
from tests.providers import NO_METHOD, NO_PROOF, QUIRKS, RANGE_LIMITS, Error, ProviderTwin, provider_before
from tests.servers import DatabaseServer
from tests.world import World

PLAYS = size(2, 120)
ANSWER_SECONDS = 0.5
MOST_STEPS = 400
"""Of one move of the index; a provider that is never of use takes more."""


def _newest_log_missing(twin: ProviderTwin) -> None:
    """Leave out the last log, now and then, while its block is one of the newest two."""
    drawn, node = Random(3), Rpc([twin.node_url])

    def after(method: str, _params: Params, found: object) -> object:
        if method != "eth_getLogs" or not isinstance(found, list) or not found or drawn.random() < 0.3:
            return found
        tip = block_number(node.call("eth_blockNumber"))
        return found[:-1] if block_number(found[-1]["blockNumber"]) > tip - 2 else found

    twin.change(after)


def _short_ranges(most: int, error: Error) -> Callable[[ProviderTwin], None]:
    return lambda twin: twin.limit_ranges(most, error)


OWN: dict[str, Callable[[ProviderTwin], object]] = {
    **{f"ranges of {most}: {name}": _short_ranges(most, error) for name, (most, error) in RANGE_LIMITS.items()},
    "no proofs": lambda twin: twin.lack(NO_METHOD, "eth_getProof"),
    "proofs of the newest block": lambda twin: twin.prune(1, "eth_getProof", error=NO_PROOF),
    "newest log missing now and then": _newest_log_missing,
    "limited, with Retry-After": lambda twin: twin.limit_rate(9, 3, retry_after="3"),
    "limited, without": lambda twin: twin.limit_rate(9, 3, retry_after=None),
    "limited, by an error": lambda twin: twin.limit_rate(9, 3, retry_after=None, by_status=False),
    "one of seven requests lost": lambda twin: twin.lose_one_of(7),
    "a hang now and then": lambda twin: twin.hang_every(17),
}
"""What only the index asks for, or waits for."""
EVERY = QUIRKS | OWN
TELLING = (
    "batches of ten", "batches in another order", "ranges of two blocks", "a node ten blocks behind", "unknown fields",
    "429", "ranges of 1: by results", "no proofs", "newest log missing now and then", "one of seven requests lost",
)  # fmt: skip
"""One of each kind; the night plays the others."""
_SLOW = ("a node", "newest", "limited", "one", "a hang", "429", "a limit", "520", "524", "ranges of one", "ranges of t")
UNFIT = {name for name in EVERY if name.startswith((*_SLOW, "ranges of 1:", "ranges of f"))}
"""At most one at once: behind two of them, as lost answers where each block is a request of its own, the index may need
more steps than a test has."""


@dataclass
class Patience:
    """A time that passes where the index waits."""

    seconds: float = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """As the index waits before it asks again."""
        self.seconds += seconds


@pytest.mark.parametrize("quirk", EVERY if FULL else TELLING)
def test_index_behind_a_provider_is_what_the_node_has(
    world: World, database_server: DatabaseServer, monkeypatch: pytest.MonkeyPatch, quirk: str
) -> None:
    _play(world, database_server, monkeypatch, [quirk], Random(quirk))


@pytest.mark.parametrize("play", range(PLAYS))
def test_index_behind_quirks_is_the_nodes(
    world: World, database_server: DatabaseServer, monkeypatch: pytest.MonkeyPatch, play: int
) -> None:
    random = source(f"provider quirks/{play}")
    chosen = random.sample(list(EVERY), random.choice((2, 3)))
    unfit = [name for name in chosen if name in UNFIT]
    _play(world, database_server, monkeypatch, [name for name in chosen if name not in unfit[1:]], random)


def _play(
    world: World, server: DatabaseServer, monkeypatch: pytest.MonkeyPatch, chosen: list[str], random: Random
) -> None:
    patience = Patience()
    monkeypatch.setattr(time, "sleep", patience.sleep)
    with provider_before(world.node.url, patience.monotonic) as twin, fresh_copy(world, server) as (writer, engine):
        for name in chosen:
            EVERY[name](twin)
        timeout = urllib3.Timeout(connect=ANSWER_SECONDS, read=ANSWER_SECONDS)
        rpc = Rpc([twin.url], timeout=timeout, answer_seconds=ANSWER_SECONDS, patient=True)
        chain = RpcChain(rpc, world.hub_address)
        start = BlockNumber(world.hub.deploy_block - 1)
        follower = Follower(chain, writer, start, monotonic=patience.monotonic)
        for happening in _history(world, random):
            happening()
            _catch_up(world, chain, follower, writer, patience)
        world.index()
        assert contents(engine) == contents(world.engine("service_indexer")), chosen


def _history(world: World, random: Random) -> list[Callable[[], object]]:
    """What happens on the chain, and the index gets to see."""

    def bounties() -> None:
        world.solver(1).forget_nonce()
        for _ in range(random.choice((1, 3))):
            world.submit(world.fund(), world.solver(1))

    return [
        bounties,
        lambda: world.node.mine(60),
        bounties,
        lambda: world.rpc.call("anvil_reorg", 1, []),
        bounties,
        lambda: world.node.mine(3),
    ]


def _catch_up(world: World, chain: RpcChain, follower: Follower, writer: Writer, patience: Patience) -> None:
    """Step until the copy is final up to the chain's final block, and at its newest one."""
    newest, final = world.tip(), header_at(world.rpc, "finalized").number
    for _ in range(MOST_STEPS):
        position = writer.position()
        if position is not None and position.head.block_number == newest and position.head.finalized_number == final:
            return
        patience.seconds += 1
        try:
            follower.step()
        except ChainUnavailable:
            chain.distrust()
    raise AssertionError("the index does not reach the newest block")
