"""Calls as a file for the transaction builder of a Safe."""

import time
from collections.abc import Sequence
from pathlib import Path

from bounty_protocol.chain.safe_batch import safe_batch
from bounty_protocol.types import Address, ChainId

from hub_operations.signing import OperationRefused


def write_transactions(
    file: Path, chain_id: ChainId, safe: Address, calls: Sequence[tuple[Address, bytes]], words: str
) -> None:
    """Write a new file; one that is there is left as it is and refused."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(safe_batch(chain_id, safe, calls, words, int(time.time())))
    except OSError as error:
        raise OperationRefused(f"{file} cannot be written: {error.strerror}") from error
