"""What an operator sees of the Hub itself: what its owner does, and whether it holds what it owes."""

from functools import partial
from typing import Any

from bounty_protocol.chain.hub_constants import BALANCE_OF
from bounty_protocol.types import BlockNumber
from prometheus_client import CollectorRegistry
from service_common.bounded import BoundedCollector
from service_common.chain.settings import ChainSettings
from service_indexer.metrics import IndexCollector
from service_indexer.solvency import COLLECTED_SECONDS, SolvencyCollector

from tests.endpoints import Refusal, endpoint_before
from tests.providers import provider_before
from tests.world import ChainClock, World


def settings(world: World, *urls: str) -> ChainSettings:
    return ChainSettings(world.chain_id, world.hub_address, BlockNumber(0), urls or (world.node.url,))


def said(answer: object, method: str, _params: list[Any], result: object) -> object:
    return answer if method == "eth_call" else result


def figures(world: World, *urls: str) -> tuple[float | None, list[float | None]]:
    """What is owed, and what each endpoint says is missing."""
    registry = CollectorRegistry()
    collector = SolvencyCollector(world.engine("service_indexer"), settings(world, *urls))
    registry.register(BoundedCollector(collector, COLLECTED_SECONDS))
    places = range(1, max(1, len(urls)) + 1)
    missing = [registry.get_sample_value("service_hub_missing", {"endpoint": str(place)}) for place in places]
    return registry.get_sample_value("service_hub_owed"), missing


def test_honest_hub_lacks_nothing(world: World) -> None:
    assert figures(world) == (0, [0])
    bounty_id = world.create(seconds=100)
    world.finalize()
    escrow = world.contract.call("getBounty", bounty_id)[1]
    assert figures(world) == (escrow, [0])
    world.advance_to(world.time() + 100)
    world.contract.transact(world.solver(1), "settle", bounty_id)
    world.finalize()
    assert figures(world) == (escrow, [0])
    world.contract.transact(world.people.poster.wallet, "claimRefund", bounty_id)
    world.finalize()
    assert figures(world) == (0, [0])


def test_missing_money_is_told_by_every_endpoint(world: World) -> None:
    world.create(seconds=100)
    world.finalize()
    owed, _ = figures(world)
    assert owed
    with endpoint_before(world.node.url) as liar, endpoint_before(world.node.url) as silent:

        def lies(method: str, params: list[dict[str, str]], result: object) -> object:
            return "0x" + "00" * 32 if method == "eth_call" and params[0]["data"].startswith(BALANCE_OF) else result

        liar.change = lies
        assert figures(world, world.node.url, liar.url) == (owed, [0, owed])
        silent.change = lambda _method, _params, _result: Refusal(-32000, "header not found")
        assert figures(world, silent.url, world.node.url) == (owed, [None, 0])
        for answer in ("0x", "0x1", None, "0x" + "ff" * 33):
            silent.change = partial(said, answer)
            assert figures(world, silent.url, world.node.url) == (owed, [None, 0])


def test_solvency_is_shown_beside_hanging_endpoints(world: World) -> None:
    world.create(seconds=100)
    world.finalize()
    owed, _ = figures(world)
    with provider_before(world.node.url) as first, provider_before(world.node.url) as third:
        for each in (first, third):
            each.hang("eth_call")
        assert figures(world, first.url, world.node.url, third.url) == (owed, [None, 0, None])


def test_metrics_count_what_the_owner_does(world: World) -> None:
    def acts() -> dict[str, float]:
        registry = CollectorRegistry()
        engine, clock = world.engine("service_indexer"), ChainClock(world.rpc)
        registry.register(IndexCollector(engine, world.chain_id, clock, world.rpc.endpoints))
        (family,) = (each for each in registry.collect() if each.name == "service_hub_owner_events")
        return {sample.labels["event"]: sample.value for sample in family.samples}

    def done() -> dict[str, float]:
        after = acts()
        new = {name: after[name] - before[name] for name in after if after[name] != before[name]}
        before.update(after)
        return new

    world.index()
    before = acts()
    owner, other = world.people.owner.wallet, world.solver(1)
    key = bytes([9]) + bytes(31)
    for expected, function, arguments in (
        ({"DeliveryKeyPublished": 1}, "publishDeliveryKey", (key,)),
        ({"DeliveryKeyWithdrawn": 1}, "withdrawDeliveryKey", (key,)),
        ({"FeePolicyChanged": 1, "FeeRecipientChanged": 1}, "setFeePolicy", (1, 2, other.address)),
        ({"FeePolicyChanged": 1}, "setFeePolicy", (3, 4, other.address)),
        ({"OwnershipTransferStarted": 1}, "transferOwnership", (other.address,)),
    ):
        world.contract.transact(owner, function, *arguments)
        world.index()
        assert done() == expected, function
    world.contract.transact(other, "acceptOwnership")
    world.index()
    assert done() == {"OwnershipTransferred": 1}
