"""The terms a Poster funds, exactly as the Hub takes them (``struct Terms`` of the Hub's interface).

Field order is ABI order, so ``as_tuple`` encodes and ``to_args`` prints without another mapping.
"""

from dataclasses import dataclass
from typing import Final

from bounty_protocol.types import Bytes32, TokenAmount, UnixSeconds, to_bytes

TERMS_TYPES: Final = ("bytes32", "bytes32", "uint256", "uint256", "uint256", "uint256", "uint256", "bytes32")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms that the Poster agrees to. Amounts in smallest units, times and windows in seconds."""

    spec_commitment: Bytes32
    expected_roster_hash: Bytes32
    escrow_amount: TokenAmount
    submission_deadline: UnixSeconds
    judging_window: int
    max_protocol_fee: TokenAmount
    max_guardian_fee: TokenAmount
    salt: Bytes32

    def as_tuple(self) -> tuple[bytes, bytes, int, int, int, int, int, bytes]:
        """Return the values in ABI order, for an encoder that knows ``TERMS_TYPES``."""
        return (
            to_bytes(self.spec_commitment),
            to_bytes(self.expected_roster_hash),
            self.escrow_amount,
            self.submission_deadline,
            self.judging_window,
            self.max_protocol_fee,
            self.max_guardian_fee,
            to_bytes(self.salt),
        )

    def to_args(self) -> list[str]:
        """Return the values as the API prints a tuple: ABI order, 32-byte values as hex, integers as
        decimal strings.
        """
        return [
            self.spec_commitment,
            self.expected_roster_hash,
            str(self.escrow_amount),
            str(self.submission_deadline),
            str(self.judging_window),
            str(self.max_protocol_fee),
            str(self.max_guardian_fee),
            self.salt,
        ]
