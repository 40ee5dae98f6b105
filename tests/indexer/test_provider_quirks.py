"""The settler behind a provider with quirks."""

from collections.abc import Callable

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable

from tests.indexer.test_settler import due, outcome, rows, settler_with
from tests.providers import QUIRKS, ProviderTwin, provider_before
from tests.world import World

MOST_RUNS = 20
"""Of the settler: it runs every few seconds, and a refusal is left to the next run."""


@pytest.mark.parametrize("quirk", QUIRKS.values(), ids=QUIRKS)
def test_settler_behind_a_quirk_settles_once(world: World, quirk: Callable[[ProviderTwin], None]) -> None:
    wallet, bounty_id = world.people.settler.wallet, due(world)
    before = world.rpc.call("eth_getTransactionCount", wallet.address, "latest")
    with provider_before(world.node.url) as twin:
        quirk(twin)
        settler = settler_with(world, wallet, twin.url)
        for _ in range(MOST_RUNS):
            try:
                settler.settle_due()
            except ChainUnavailable:
                continue
            if outcome(world, bounty_id) == (2, 2):
                world.finalize()
            if rows(world) == [] and outcome(world, bounty_id) == (2, 2):
                break
    assert (outcome(world, bounty_id), rows(world)) == ((2, 2), [])
    after = world.rpc.call("eth_getTransactionCount", wallet.address, "latest")
    assert int(str(after), 16) == int(str(before), 16) + 1
