"""The settler's gas key: signs ``settle`` calls and nothing else.

Promises: the key has no authority (anyone may settle) and pays only gas; it is never logged; what it signs is a call
of ``settle`` on this Hub with a bounded fee.
"""

import sys
from dataclasses import dataclass, field

from service_common.chain.abi import hub_abi
from service_common.types import Address, BountyId, ChainId, checksum_address, parse_address

_limit = sys.getrecursionlimit()

from eth_account import Account  # noqa: E402  # a dependency of it raises the recursion limit; it is put back

sys.setrecursionlimit(_limit)

SETTLE_GAS = 150_000
GROUP_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@dataclass(frozen=True, slots=True)
class Fees:
    """EIP-1559 fees in wei per unit of gas."""

    max_fee: int
    tip: int

    def __post_init__(self) -> None:
        if not 0 <= self.tip <= self.max_fee:
            raise ValueError("a tip lies within the whole fee")

    def raised(self) -> "Fees":
        """High enough that nodes accept it as a replacement: an eighth more than before, rounded up."""
        return Fees(self.max_fee + self.max_fee // 8 + 1, self.tip + self.tip // 8 + 1)


@dataclass(frozen=True, slots=True)
class GasWallet:
    """One account that pays for settlements."""

    address: Address
    chain_id: ChainId
    hub: Address
    _key: bytes = field(repr=False)

    def sign_settle(self, bounty_id: BountyId, nonce: int, fees: Fees) -> str:
        """The raw signed transaction, 0x-hex."""
        fields = {
            "type": 2,
            "chainId": self.chain_id,
            "nonce": nonce,
            "to": checksum_address(self.hub),
            "value": 0,
            "gas": SETTLE_GAS,
            "maxFeePerGas": fees.max_fee,
            "maxPriorityFeePerGas": fees.tip,
            "data": hub_abi().functions["settle"].encode(bounty_id),
        }
        return "0x" + bytes(Account.sign_transaction(fields, self._key).raw_transaction).hex()


def make_gas_wallet(private_key: str, chain_id: ChainId, hub: Address) -> GasWallet:
    """The wallet of a private key in hex; ``ValueError`` for anything else, without repeating it."""
    digits = private_key.removeprefix("0x")
    if len(digits) != 64 or any(c not in "0123456789abcdefABCDEF" for c in digits):
        raise ValueError("not a private key: 32 bytes in hexadecimal")
    key = bytes.fromhex(digits)
    if not 0 < int(digits, 16) < GROUP_ORDER:
        raise ValueError("not a private key: zero or not below the group's order")
    return GasWallet(parse_address(Account.from_key(key).address), chain_id, hub, key)
