"""What this release assumes about the chain, the beacon and the token that it is made for: value, source and date.

Code takes each value from where this table takes it. ``tools/world.py`` compares what can be asked with the world,
every night, and fails where the world has moved.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.deployment import BeaconRecord, DeploymentRecord
from bounty_protocol.chain.endpoints import FIRST_BLOCKS, MOST_CALLS
from bounty_protocol.chain.gas import GAS_NEEDS
from bounty_protocol.domain.lifecycle.halts import BASE_FINALITY_SECONDS, BASE_OUTAGE_SECONDS, SEQUENCER_WINDOW_SECONDS
from bounty_protocol.types import Address, Bytes32

TOKEN_IMPLEMENTATION: Final = Address("0x2ce6311ddae708829bc0784c967b7d77d19fd779")
TOKEN_DIGEST: Final = Bytes32("0x11b75a237997ab8328f65b2d5a55c10f0346d0a175741ed42ddf4f2c66b9e873")


@dataclass(frozen=True, slots=True)
class Assumption:
    """One value, where it is from, and the day on which that was read."""

    value: str
    source: str
    read_on: str


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a network's endpoints and relays are expected to answer."""

    block_seconds: float
    finality_seconds: int
    """The most seconds from a block to its finality."""
    gas: int
    """The gas of the largest call; a block has to hold it."""
    range_blocks: int
    batch_calls: int
    token_code: Mapping[Address, Bytes32]
    """The keccak of an account's code."""
    beacon: BeaconRecord


def expectations_of(record: DeploymentRecord) -> Expectations:
    """Return what is expected of a known network."""
    if record.block_time_seconds is None or record.beacon is None:
        raise ValueError(f"the record of {record.name} lacks what is to be compared")
    return Expectations(
        block_seconds=record.block_time_seconds,
        finality_seconds=BASE_FINALITY_SECONDS,
        gas=max(need.most() for need in GAS_NEEDS.values()),
        range_blocks=FIRST_BLOCKS,
        batch_calls=MOST_CALLS,
        token_code={TOKEN_IMPLEMENTATION: TOKEN_DIGEST} if record.name == "mainnet" else {},
        beacon=record.beacon,
    )


def assumptions(record: DeploymentRecord) -> Mapping[str, Assumption]:
    """List what is assumed of a network."""
    expected = expectations_of(record)
    return {
        "Pace of Base": Assumption(f"{expected.block_seconds:g} s a block", "docs.base.org, Denim", "2026-11-29"),
        "Finality of Base": Assumption(
            f"{BASE_FINALITY_SECONDS // 60} minutes at most, in leaps", "docs.base.org", "2026-11-29"
        ),
        "Longest outage of Base": Assumption(
            f"{BASE_OUTAGE_SECONDS // 60} minutes, 25 June 2026", "status.base.org", "2026-11-29"
        ),
        "Longest time a sequencer may delay a deposit": Assumption(
            f"{SEQUENCER_WINDOW_SECONDS // 3_600} hours", "OP stack, seq_window_size", "2026-11-29"
        ),
        "Largest call": Assumption(f"{expected.gas:,} gas, below 2^24 of EIP-7825", "eips.ethereum.org", "2026-11-29"),
        "What providers take": Assumption(
            f"{MOST_CALLS} calls a batch, {FIRST_BLOCKS:,} blocks of logs; less is tried after a refusal",
            "docs of Alchemy, QuickNode, Infura, dRPC",
            "2026-11-29",
        ),
        "Code of Base's USDC": Assumption(
            f"`{TOKEN_DIGEST}`", f"`eth_getCode` of {TOKEN_IMPLEMENTATION}", "2026-11-29"
        ),
        "Beacon": Assumption(
            f"drand quicknet, {expected.beacon.period_seconds} s a round", "docs.drand.love", "2026-11-29"
        ),
        "Versions": Assumption(
            "Python 3.11 to 3.14, PostgreSQL 15 or newer, MCP 2026-07-28", "the pins in requirements/", "2026-11-29"
        ),
    }
