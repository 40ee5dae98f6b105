"""Where a Submission's ciphertext is stored, derivable by a client that knows no bucket (docs/formats.md).

``submissions/<chain_id>/<hub>/<bounty_id>/<solver>/<sha256 hex without 0x>.age``: addresses lowercase, ids decimal.
"""

import re
from dataclasses import dataclass
from typing import Final

from bounty_protocol.types import Address, BountyId, Bytes32, ChainId, parse_bounty_id, parse_decimal

_LOCATOR: Final = re.compile(
    r"submissions/([1-9][0-9]{0,18})/(0x[0-9a-f]{40})/([1-9][0-9]{0,18})/(0x[0-9a-f]{40})/([0-9a-f]{64})\.age"
)


@dataclass(frozen=True, slots=True)
class StorageLocation:
    """The object that a locator names; ``str`` of it is the locator."""

    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    solver_address: Address
    ciphertext_sha256: Bytes32

    def __str__(self) -> str:
        folder = f"submissions/{self.chain_id}/{self.hub_address}/{self.bounty_id}/{self.solver_address}"
        return f"{folder}/{self.ciphertext_sha256[2:]}.age"


def storage_locator(
    chain_id: ChainId, hub_address: Address, bounty_id: BountyId, solver_address: Address, ciphertext_sha256: Bytes32
) -> str:
    """Return the locator of one Solver's ciphertext for one bounty."""
    return str(StorageLocation(chain_id, hub_address, bounty_id, solver_address, ciphertext_sha256))


def parse_locator(text: str) -> StorageLocation:
    """Read a locator; ``ValueError`` unless it is one in canonical form."""
    found = _LOCATOR.fullmatch(text)
    if found is None:
        raise ValueError("not a storage locator: submissions/<chain>/<hub>/<bounty>/<solver>/<sha256>.age")
    chain, hub, bounty, solver, digest = found.groups()
    return StorageLocation(
        ChainId(parse_decimal(chain)), Address(hub), parse_bounty_id(bounty), Address(solver), Bytes32("0x" + digest)
    )
