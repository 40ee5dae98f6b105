"""A Hub of another release is noticed at its first log that differs, and nothing of it is guessed."""

from dataclasses import replace

import pytest
from bounty_protocol.chain import events
from bounty_protocol.chain.events import Log, UnknownLog, decode_log
from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_constants import read_publication_delay
from bounty_protocol.chain.rpc import ChainUnavailable, Rpc, RpcRefused
from bounty_protocol.domain.hub_events import EVENT_CLASSES
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import BlockNumber, Bytes32
from service_common.db.hub_reads import read_head
from service_indexer.follower import Halted, advance
from service_indexer.source import RpcSource

from tests.indexer.lying import LyingSource
from tests.world import World

FORMER = ("RosterPublished(uint256,bytes32,address[],bytes32[],uint256)", "DeliveryKeyPublished(bytes32)")
"""Events of the release before this one that the Hub logs differently now."""


def topic(signature: str) -> Bytes32:
    return Bytes32("0x" + keccak256(signature.encode()).hex())


def halted(world: World) -> str | None:
    with world.engine("service_api").connect() as connection:
        head = read_head(connection, world.chain_id)
    assert head is not None
    return head.halted


@pytest.mark.parametrize("signature", FORMER)
def test_copy__of_a_hub_of_the_release_before__halts_on_its_log(world: World, signature: str) -> None:
    def former(logs: list[Log]) -> list[Log]:
        return [replace(log, topics=(topic(signature), *log.topics[1:])) for log in logs]

    world.create()
    world.node.mine(3)
    source = LyingSource(RpcSource(world.rpc, world.hub_address, proven=False), change_range=former)
    with pytest.raises(Halted, match="another release"):
        advance(source, world.writer)
    assert halted(world) is not None
    with pytest.raises(Halted):
        advance(world.source, world.writer)


def test_copy__by_the_release_before__gets_no_further_than_the_deployment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {name: event for name, event in EVENT_CLASSES.items() if name not in {"Deployed", "RosterPublished"}}
    monkeypatch.setattr(events, "EVENT_CLASSES", known)
    first = BlockNumber(world.hub.deploy_block)
    (deployed, *_) = world.source.logs_of_range(first, first).logs
    with pytest.raises(UnknownLog, match=f"block {first} "):
        decode_log(deployed)


def test_copy__with_an_unknown_log_that_is_not_final__waits_instead_of_halting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create()
    with monkeypatch.context() as patched:
        patched.setattr(events, "EVENT_CLASSES", {})
        with pytest.raises(Halted):
            advance(world.source, world.writer)
    assert halted(world) is None
    world.index()


class WithoutDelay(Rpc):
    """An endpoint whose Hub has no ``publicationDelay``."""

    def call(self, method: str, *params: object) -> object:
        raise RpcRefused(3, "execution reverted")


def test_constants__of_a_hub_without_the_delay__name_its_release(world: World) -> None:
    with pytest.raises(ChainUnavailable, match="earlier release"):
        read_publication_delay(Hub(WithoutDelay([world.node.url]), world.hub_address))
    assert read_publication_delay(Hub(world.rpc, world.hub_address)) == world.hub.terms.publication_delay
