"""A call as the file that the transaction builder of a Safe loads: its owners see it, and sign it together."""

import json
import time
from pathlib import Path

from service_common.types import Address, ChainId, checksum_address

from hub_operations.signing import OperationRefused


def write_transaction(file: Path, chain_id: ChainId, safe: Address, to: Address, data: bytes, words: str) -> None:
    """Write a new file, in the builder's format 1.0; one that is there is left as it is and refused.

    The call is given as its bytes alone: with a method beside them the builder shows the method and sends the bytes.
    """
    batch = {
        "version": "1.0",
        "chainId": str(chain_id),
        "createdAt": int(time.time() * 1000),
        "meta": {
            "name": "Bounty Escrow Service Hub",
            "description": words,
            "createdFromSafeAddress": checksum_address(safe),
        },
        "transactions": [
            {
                "to": checksum_address(to),
                "value": "0",
                "data": f"0x{data.hex()}",
                "contractMethod": None,
                "contractInputsValues": None,
            }
        ],
    }
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(json.dumps(batch, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise OperationRefused(f"{file} cannot be written: {error.strerror}") from error
