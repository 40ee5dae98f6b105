"""Deployment records: what the chain id alone determines.

The record of a known network is package data and invents nothing: an address that is not known is null. ``local`` has
no record; its values come from the environment and from the Hub. Section "Deployments" of the interface.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from bounty_protocol.types import Address, BlockNumber, Bytes32, ChainId, parse_address, parse_bytes32

LOCAL_CHAIN_ID: Final = ChainId(31337)
NETWORKS: Final = {"mainnet": ChainId(8453), "staging": ChainId(84532), "local": LOCAL_CHAIN_ID}
_RECORDED: Final = ("mainnet", "staging")
_RECORDS: Final = Path(__file__).with_name("deployments")
HUB_HEADER: Final = "X-Hub"
"""The header of every answer of an API that names the Hub which it serves, as ``caip_10`` writes it."""


@dataclass(frozen=True, slots=True)
class BeaconRecord:
    """The randomness beacon that opens Submissions. ``public_key`` is 96 bytes, hex."""

    urls: tuple[str, ...]
    chain_hash: Bytes32
    public_key: str
    genesis_time: int | None
    period_seconds: int | None


@dataclass(frozen=True, slots=True)
class DeploymentRecord:
    """One deployment of the service; None if this release does not know the value."""

    name: str
    chain_id: ChainId
    hub_address: Address | None
    deploy_block: BlockNumber | None
    escrow_token_address: Address | None
    escrow_token_decimals: int | None
    rpc_url: str | None
    api_base_url: str | None
    subgraph_endpoint: str | None
    block_time_seconds: float | None
    reveal_delay_seconds: int | None
    finality_depth: int | None
    beacon: BeaconRecord | None


@cache
def deployment_of(chain_id: ChainId) -> DeploymentRecord | None:
    """Return the record of a known chain; None for any other, ``local`` included."""
    return next((_load(name) for name in _RECORDED if NETWORKS[name] == chain_id), None)


def caip_10(chain_id: ChainId, hub_address: Address) -> str:
    """Return a Hub's name according to CAIP-10."""
    return f"eip155:{chain_id}:{hub_address}"


def network_named(chain_id: int) -> str:
    """Return a chain as messages name it: ``8453 (mainnet)``, or the bare number of an unknown network."""
    name = next((name for name, known in NETWORKS.items() if known == chain_id), None)
    return str(chain_id) if name is None else f"{chain_id} ({name})"


def parse_network(text: str) -> ChainId:
    """Parse a network's name or chain id; ``ValueError`` names what is accepted."""
    if text in NETWORKS:
        return NETWORKS[text]
    if text.isascii() and text.isdigit() and int(text) in NETWORKS.values():
        return ChainId(int(text))
    *others, last = (f"{name} ({chain_id})" for name, chain_id in NETWORKS.items())
    raise ValueError(f"a network is one of {', '.join(others)} and {last}")


def _load(name: str) -> DeploymentRecord:
    record = json.loads((_RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    beacon = record["beacon"]
    return DeploymentRecord(
        name=name,
        chain_id=NETWORKS[name],
        hub_address=parse_address(record["hub_address"]) if record["hub_address"] else None,
        deploy_block=record["deploy_block"],
        escrow_token_address=parse_address(record["escrow_token_address"]),
        escrow_token_decimals=record["escrow_token_decimals"],
        rpc_url=record["rpc_url"],
        api_base_url=record["api_base_url"],
        subgraph_endpoint=record["subgraph_endpoint"],
        block_time_seconds=record["block_time_seconds"],
        reveal_delay_seconds=record["reveal_delay_seconds"],
        finality_depth=record["finality_depth"],
        beacon=BeaconRecord(
            urls=tuple(beacon["urls"]),
            chain_hash=parse_bytes32(beacon["chain_hash"]),
            public_key=beacon["public_key"],
            genesis_time=beacon["genesis_time"],
            period_seconds=beacon["period_seconds"],
        ),
    )
