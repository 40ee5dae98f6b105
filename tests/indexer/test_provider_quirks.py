"""The settler behind a provider with quirks."""

import pytest
from bounty_protocol.chain.rpc import ChainUnavailable

from tests.campaign import FULL
from tests.indexer.test_settler import due, outcome, rows, settler_with
from tests.providers import QUIRKS, provider_before
from tests.world import World

MOST_RUNS = 20
"""Of the settler: it runs every few seconds, and a refusal is left to the next run."""
TELLING = ("a node three blocks behind", "no estimates", "a full pool, once", "one transaction in flight, once", "524")
"""Those that a transaction meets; the night plays the others."""


@pytest.mark.parametrize("quirk", QUIRKS if FULL else TELLING)
def test_settler_behind_a_quirk_settles_once(world: World, quirk: str) -> None:
    wallet, bounty_id = world.people.settler.wallet, due(world)
    before = world.rpc.call("eth_getTransactionCount", wallet.address, "latest")
    with provider_before(world.node.url) as twin:
        QUIRKS[quirk](twin)
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
