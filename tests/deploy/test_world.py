"""The nightly comparison of what is assumed about the world: it finds each assumption that no longer holds."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from bounty_protocol.chain.deployment import BeaconRecord
from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.chain.world import Expectations
from bounty_protocol.crypto.beacon_http import Urllib3Get
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, Bytes32
from local_stack import anvil, beacon

from tools.world import moved

ACCOUNT = Address("0x4e59b44847b379578588920ca78fbf26c0b4956c")
"""Has code on each local chain."""


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Expectations, str]]:
    """What holds for a chain of 0.2 s and a beacon, and the chain's address."""
    with anvil.start(mining="interval", block_time=0.2) as node, beacon.start() as running:
        rpc, info = Rpc([node.url]), running.chain.info
        code = bytes.fromhex(str(rpc.call("eth_getCode", ACCOUNT, "latest"))[2:])
        expected = Expectations(
            block_seconds=0.2,
            finality_seconds=10,
            gas=1_000_000,
            range_blocks=2_000,
            batch_calls=100,
            token_code={ACCOUNT: Bytes32("0x" + keccak256(code).hex())},
            beacon=BeaconRecord(
                (running.url,), info.chain_hash, info.public_key, info.genesis_time, info.period_seconds
            ),
        )
        while node.w3.eth.block_number < 60:
            time.sleep(0.2)
        yield expected, node.url


def found(expected: Expectations, url: str) -> list[str]:
    return list(moved(expected, Rpc([url]), Urllib3Get()))


def test_world_as_assumed_has_not_moved(world: tuple[Expectations, str]) -> None:
    assert found(*world) == []


ALTERED: dict[str, tuple[dict[str, Any], str]] = {
    "pace": ({"block_seconds": 2.0}, "a block takes"),
    "slower": ({"block_seconds": 0.05}, "a block takes"),
    "finality": ({"finality_seconds": -1}, "finality is"),
    "gas": ({"gas": 2**62}, "a block holds"),
    "code": ({"token_code": {ACCOUNT: Bytes32("0x" + "00" * 32)}}, "the code of"),
}


@pytest.mark.parametrize("name", ALTERED)
def test_each_assumption_that_moved_is_found(world: tuple[Expectations, str], name: str) -> None:
    expected, url = world
    changed, said = ALTERED[name]
    (line,) = found(replace(expected, **changed), url)
    assert line.startswith(said)


def test_other_beacon_is_found(world: tuple[Expectations, str]) -> None:
    expected, url = world
    for changed in ({"genesis_time": 1}, {"period_seconds": 9}, {"chain_hash": Bytes32("0x" + "11" * 32)}):
        record = replace(expected.beacon, **changed)
        (line,) = found(replace(expected, beacon=record), url)
        assert "the beacon" in line
