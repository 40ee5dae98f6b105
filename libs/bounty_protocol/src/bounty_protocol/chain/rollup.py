"""The outages that a bounty's windows should outlast, by network."""

from collections.abc import Mapping
from typing import Final

from bounty_protocol.chain.deployment import NETWORKS
from bounty_protocol.domain.halts import BASE_OUTAGE_SECONDS
from bounty_protocol.types import ChainId

STATED_OUTAGES: Final[Mapping[ChainId, int]] = {
    NETWORKS["mainnet"]: BASE_OUTAGE_SECONDS,
    NETWORKS["staging"]: BASE_OUTAGE_SECONDS,  # of the same operator and software
}
"""Seconds by chain id; the local network has no sequencer that could be away."""
