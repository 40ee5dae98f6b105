"""Calls as the file that the transaction builder of a Safe loads: its owners see them, and sign them together."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bounty_protocol.types import Address, ChainId, checksum_address

from hub_operations.signing import OperationRefused

_NAME: Final = "Bounty Escrow Service Hub"


def write_transactions(
    file: Path, chain_id: ChainId, safe: Address, calls: Sequence[tuple[Address, bytes]], words: str
) -> None:
    """Write a new file; one that is there is left as it is and refused."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(safe_batch(chain_id, safe, calls, words, int(time.time())))
    except OSError as error:
        raise OperationRefused(f"{file} cannot be written: {error.strerror}") from error


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
