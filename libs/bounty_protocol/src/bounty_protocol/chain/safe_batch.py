"""Calls as the file that the transaction builder of a Safe loads: its owners see them, and sign them together."""

import json
from collections.abc import Sequence

from bounty_protocol.types import Address, ChainId, checksum_address

_NAME = "Bounty Escrow Service Hub"


def safe_batch(
    chain_id: ChainId, safe: Address, calls: Sequence[tuple[Address, bytes]], description: str, created_at: int
) -> str:
    """Return the file's text, in the builder's format 1.0; ``calls`` are contracts and call data, ``created_at``
    seconds.

    A call is given as its bytes only: if a method were named, the builder would show the method but send the bytes.
    """
    batch = {
        "version": "1.0",
        "chainId": str(chain_id),
        "createdAt": created_at * 1000,
        "meta": {"name": _NAME, "description": description, "createdFromSafeAddress": checksum_address(safe)},
        "transactions": [
            {
                "to": checksum_address(to),
                "value": "0",
                "data": f"0x{data.hex()}",
                "contractMethod": None,
                "contractInputsValues": None,
            }
            for to, data in calls
        ],
    }
    return json.dumps(batch, indent=2, ensure_ascii=False) + "\n"
