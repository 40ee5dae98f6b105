"""What an operator sees of the Hub itself: what its owner does, and whether it holds what it owes."""

from functools import partial
from typing import Any

from bounty_protocol.chain.hub_constants import BALANCE_OF
from bounty_protocol.types import BlockNumber
from prometheus_client import CollectorRegistry
from service_common.chain.settings import ChainSettings
from service_common.timeouts import Figures
from service_indexer.metrics import index_figures
from service_indexer.solvency import COLLECTED_SECONDS, scraped_rpc, solvency_figures

from tests.cli.servers import RpcProxy
from tests.providers import provider_before
from tests.world import ChainClock, World


def said(answer: object, method: str, _params: list[Any], result: object) -> object:
    return answer if method == "eth_call" else result


def figures(world: World, *urls: str) -> tuple[float | None, float | None]:
    """What is owed, and what is missing."""
    registry = CollectorRegistry()
    chain = ChainSettings(world.chain_id, world.hub_address, BlockNumber(0), urls or (world.node.url,))
    engine, rpc = world.engine("service_indexer"), scraped_rpc(chain)
    registry.register(Figures(lambda: solvency_figures(engine, chain, rpc), COLLECTED_SECONDS))
    return registry.get_sample_value("service_hub_owed"), registry.get_sample_value("service_hub_missing")


def test_honest_hub_lacks_nothing(world: World) -> None:
    assert figures(world) == (0, 0)
    bounty_id = world.fund(seconds=100)
    world.finalize()
    escrow = world.contract.call("getBounty", bounty_id)[1]
    assert figures(world) == (escrow, 0)
    world.advance_to(world.time() + 100)
    world.contract.transact(world.solver(1), "settle", bounty_id)
    world.finalize()
    assert figures(world) == (escrow, 0)
    world.contract.transact(world.people.poster.wallet, "claimRefund", bounty_id)
    world.finalize()
    assert figures(world) == (0, 0)


def test_missing_money_is_what_two_endpoints_show(world: World) -> None:
    world.fund(seconds=100)
    world.finalize()
    owed, url = figures(world)[0], world.node.url

    def lies(method: str, params: list[dict[str, str]], result: object) -> object:
        return "0x" + "00" * 32 if method == "eth_call" and params[0]["data"].startswith(BALANCE_OF) else result

    with RpcProxy(url) as liar, RpcProxy(url) as other, provider_before(url) as hanging:
        liar.after = lies
        assert figures(world, liar.url) == (owed, owed)
        assert figures(world, liar.url, url) == (owed, None)
        assert figures(world, liar.url, url, other.url) == (owed, 0)
        hanging.hang("eth_call")
        assert figures(world, hanging.url, url, other.url) == (owed, 0)
        for answer in ("0x", "0x1", None, "0x" + "ff" * 33):
            other.after = partial(said, answer)
            assert figures(world, other.url) == (owed, None)


def test_metrics_count_what_the_owner_does(world: World) -> None:
    def acts() -> dict[str, float]:
        registry = CollectorRegistry()
        engine, clock = world.engine("service_indexer"), ChainClock(world.rpc)
        registry.register(Figures(lambda: index_figures(engine, world.chain_id, clock)))
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
