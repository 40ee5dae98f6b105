"""The operator's key and the transactions it signs.

Promises: the key comes from ``HUB_OWNER_PRIVATE_KEY`` or the file named by ``HUB_OWNER_PRIVATE_KEY_FILE``, never from
an argument, and is never shown; every transaction is simulated before it is signed and waited for after it is sent.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from eth_account import Account
from service_common.chain.json_rpc import JsonRpc, RpcRefused, mapping, quantity
from service_common.chain.reverts import explain
from service_common.types import Address, ChainId, checksum_address, parse_address

KEY: Final = "HUB_OWNER_PRIVATE_KEY"
RECEIPT_SECONDS: Final = 180.0


class OperationRefused(Exception):
    """The operation cannot be done, in a sentence."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One account on one chain."""

    rpc: JsonRpc
    chain_id: ChainId
    address: Address
    _key: bytes = field(repr=False)

    def simulate(self, to: Address, data: bytes) -> None:
        """Run a call without sending it; a revert is refused with its sentence."""
        try:
            self.rpc.call("eth_call", {"from": self.address, "to": to, "data": "0x" + data.hex()}, "latest")
        except RpcRefused as refusal:
            raise OperationRefused(explain(refusal).message) from refusal

    def send(self, to: Address, data: bytes) -> Mapping[str, object]:
        """Sign, send and wait; the receipt of a successful transaction."""
        request = {"from": self.address, "to": to, "data": "0x" + data.hex()}
        tip = quantity(self.rpc.call("eth_maxPriorityFeePerGas"))
        block = mapping(self.rpc.call("eth_getBlockByNumber", "latest", False))
        fields = {
            "type": 2,
            "chainId": self.chain_id,
            "nonce": quantity(self.rpc.call("eth_getTransactionCount", self.address, "pending")),
            "to": checksum_address(to),
            "value": 0,
            "data": data,
            "gas": quantity(self.rpc.call("eth_estimateGas", request)) * 5 // 4,
            "maxFeePerGas": 2 * quantity(block.get("baseFeePerGas", "0x0")) + tip,
            "maxPriorityFeePerGas": tip,
        }
        raw = Account.sign_transaction(fields, self._key).raw_transaction
        tx_hash = str(self.rpc.call("eth_sendRawTransaction", "0x" + bytes(raw).hex()))
        return self._wait(tx_hash)

    def _wait(self, tx_hash: str) -> Mapping[str, object]:
        ends = time.monotonic() + RECEIPT_SECONDS
        while time.monotonic() < ends:
            receipt = self.rpc.call("eth_getTransactionReceipt", tx_hash)
            if receipt is not None:
                found = mapping(receipt)
                if quantity(found.get("status")) != 1:
                    raise OperationRefused(f"transaction {tx_hash} was mined and reverted")
                return found
            time.sleep(0.2)
        raise OperationRefused(f"transaction {tx_hash} is not mined yet; look at it on chain before trying again")


def read_operator(rpc: JsonRpc, chain_id: ChainId, environment: Mapping[str, str] = os.environ) -> Operator:
    """The operator behind the key variable; the RPC must serve the chain that is meant."""
    served = quantity(rpc.call("eth_chainId"))
    if served != chain_id:
        raise OperationRefused(f"the RPC endpoint serves chain {served}, not {chain_id}")
    digits = _key_text(environment).removeprefix("0x")
    if len(digits) != 64 or any(c not in "0123456789abcdefABCDEF" for c in digits):
        raise OperationRefused(f"{KEY} is not a private key: 32 bytes in hexadecimal")
    key = bytes.fromhex(digits)
    return Operator(rpc, chain_id, parse_address(Account.from_key(key).address), key)


def _key_text(environment: Mapping[str, str]) -> str:
    value, file = environment.get(KEY), environment.get(f"{KEY}_FILE")
    if value and file:
        raise OperationRefused(f"{KEY} and {KEY}_FILE are both set; keep one")
    if file:
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise OperationRefused(f"the file named by {KEY}_FILE cannot be read") from error
    if not value:
        raise OperationRefused(f"set {KEY}_FILE to a file with the key (or {KEY} to the key)")
    return value
