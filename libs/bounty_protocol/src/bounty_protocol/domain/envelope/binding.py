"""The bounty and the Solver that sealed work is for, as one line inside the seal (docs/formats.md).

The line is where nobody but the Solver can write: as a comment in the sealed identity file and in the sealed archive.
So bytes that are put into another account's envelope still name whose they are. ``crypto.binding`` compares.
"""

import re
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.envelope.canonical_json import MAX_SAFE_INTEGER
from bounty_protocol.types import Address, BountyId, ChainId, parse_bounty_id, parse_decimal

MARK: Final = "bounty-escrow:"
_TEXT: Final = re.compile(
    f"{MARK} chain_id=([0-9]{{1,16}}) hub_address=(0x[0-9a-f]{{40}})"
    " bounty_id=([0-9]{1,19}) solver_address=(0x[0-9a-f]{40})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Binding:
    """One Solver's work for one bounty of one deployment."""

    chain_id: ChainId
    hub_address: Address
    bounty_id: BountyId
    solver_address: Address

    def text(self) -> str:
        """Return the binding in its canonical spelling."""
        return (
            f"{MARK} chain_id={self.chain_id} hub_address={self.hub_address}"
            f" bounty_id={self.bounty_id} solver_address={self.solver_address}"
        )


def parse_binding(text: str) -> Binding:
    """Parse the canonical spelling, or raise ``ValueError``."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError("it does not name a chain, a Hub, a bounty and a Solver in the required spelling")
    chain_id = parse_decimal(found[1])
    if not 1 <= chain_id <= MAX_SAFE_INTEGER:
        raise ValueError("its chain id is out of range")
    return Binding(ChainId(chain_id), Address(found[2]), parse_bounty_id(found[3]), Address(found[4]))


def take_comment(found: Binding | None, comment: str) -> Binding | None:
    """Return the binding after one more comment: other comments change nothing, a second binding is a ValueError."""
    if not comment.startswith(MARK):
        return found
    if found is not None:
        raise ValueError("it names a bounty and a Solver twice")
    return parse_binding(comment)
