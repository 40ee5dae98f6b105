"""A call as the file that the transaction builder of a Safe loads: its owners see it, and sign it together."""

import json
import time
from pathlib import Path

from service_common.types import Address, ChainId, checksum_address

from hub_operations.signing import OperationRefused


def write_transaction(file: Path, chain_id: ChainId, to: Address, data: bytes, words: str) -> None:
    """Write a new file; one that is there is left as it is and refused."""
    batch = {
        "version": "1.0",
        "chainId": str(chain_id),
        "createdAt": int(time.time() * 1000),
        "meta": {"name": "Bounty Escrow Service Hub", "description": words},
        "transactions": [{"to": checksum_address(to), "value": "0", "data": f"0x{data.hex()}"}],
    }
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(json.dumps(batch, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise OperationRefused(f"{file} cannot be written: {error.strerror}") from error
