"""What an audit looks at: what the chain said, and what the service said.

Promises: plain values without any judgement, the same whether they were collected just now or read from a bundle.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from service_common.chain.events import Log
from service_common.crypto.beacon_info import BeaconInfo
from service_common.types import Address, BlockNumber, BountyId, Bytes32, ChainId, UnixSeconds


@dataclass(frozen=True, slots=True)
class Read:
    """One view of the Hub at the finalized block: its function, its arguments as text, its answer as it came."""

    function: str
    arguments: tuple[str, ...]
    answer: bytes


@dataclass(frozen=True, slots=True)
class FinalizedBlock:
    """The block up to which the log was read."""

    number: BlockNumber
    hash: Bytes32
    time: UnixSeconds


@dataclass(frozen=True, slots=True)
class ChainEvidence:
    """One bounty as the chain tells it.

    ``logs`` are the Hub's about this bounty in the order of the chain, ``times`` those of their blocks; ``beacon`` is
    None where nobody could be asked.
    """

    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    finalized: FinalizedBlock
    logs: tuple[Log, ...]
    times: Mapping[Bytes32, UnixSeconds]
    reads: tuple[Read, ...]
    beacon: BeaconInfo | None


@dataclass(slots=True)
class ServiceEvidence:
    """What the service answered, as bytes. ``missing`` says by name why something is not here.

    ``active_until`` are the Guardians' last signs of life by the Hub's own view after the service was asked.
    """

    detail: bytes | None = None
    active_until: tuple[int, ...] = ()
    verdicts: dict[Bytes32, bytes] = field(default_factory=dict)
    envelopes: dict[Bytes32, bytes] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    def reason(self, name: str) -> str:
        """Why something is not here."""
        return self.missing.get(name, "it was not asked for")
