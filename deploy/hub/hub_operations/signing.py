"""The operator's key and the transactions it signs.

The key comes from ``HUB_OWNER_PRIVATE_KEY`` or the file named by ``HUB_OWNER_PRIVATE_KEY_FILE``, never from an
argument, and is never shown. Every transaction is simulated before it is signed and waited for after it is sent.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bounty_protocol.auth.signature import parse_private_key
from bounty_protocol.chain.reverts import explain
from bounty_protocol.chain.rpc import Rpc, RpcRefused
from bounty_protocol.types import Address, ChainId
from eth_account.signers.local import LocalAccount
from service_indexer.web3_provider import Account, Web3, make_web3, usable_answers
from web3.exceptions import TimeExhausted
from web3.middleware import SignAndSendRawMiddlewareBuilder
from web3.types import TxParams, TxReceipt

KEY: Final = "HUB_OWNER_PRIVATE_KEY"
RECEIPT_SECONDS: Final = 180.0


class OperationRefused(Exception):
    """The operation cannot be done, in a sentence."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One account on one chain. ``w3`` signs for it; nonce and fees are web3's to fill in."""

    rpc: Rpc
    w3: Web3
    chain_id: ChainId
    account: Address

    def simulate(self, to: Address, data: bytes) -> None:
        """Run a call without sending it; a revert is refused with its sentence."""
        try:
            self.w3.eth.call(self._transaction(to, data))
        except RpcRefused as refusal:
            raise OperationRefused(explain(refusal).message) from refusal

    @usable_answers()
    def send(self, to: Address, data: bytes) -> TxReceipt:
        """Sign, send and wait; the receipt of a successful transaction."""
        transaction = self._transaction(to, data)
        transaction["chainId"] = self.chain_id  # what was checked, not what the endpoint answers when it is signed
        transaction["gas"] = self.w3.eth.estimate_gas(transaction) * 5 // 4
        tx_hash = self.w3.eth.send_transaction(transaction)
        try:
            receipt = self.w3.eth.wait_for_transaction_receipt(tx_hash, RECEIPT_SECONDS, poll_latency=0.2)
        except TimeExhausted as error:
            problem = "is not mined yet; look at it on chain before trying again"
            raise OperationRefused(f"transaction {tx_hash.to_0x_hex()} {problem}") from error
        if receipt["status"] != 1:
            raise OperationRefused(f"transaction {tx_hash.to_0x_hex()} was mined and reverted")
        return receipt

    def _transaction(self, to: Address, data: bytes) -> TxParams:
        sender, receiver = Web3.to_checksum_address(self.account), Web3.to_checksum_address(to)
        return {"from": sender, "to": receiver, "data": data}


def read_operator(rpc: Rpc, chain_id: ChainId, environment: Mapping[str, str] = os.environ) -> Operator:
    """Read the operator behind the key variable; the RPC must serve the chain that is meant."""
    w3 = make_web3(rpc.batch)
    with usable_answers():
        served = w3.eth.chain_id
    if served != chain_id:
        raise OperationRefused(f"the RPC endpoint serves chain {served}, not {chain_id}")
    account = read_account(environment)
    w3.middleware_onion.add(SignAndSendRawMiddlewareBuilder.build(account))
    return Operator(rpc, w3, chain_id, Address(account.address.lower()))


def read_account(environment: Mapping[str, str] = os.environ) -> LocalAccount:
    """Read the account of the key variable."""
    try:
        key = parse_private_key(_key_text(environment))
    except ValueError as error:
        raise OperationRefused(f"{KEY} is not {error}") from None
    found: LocalAccount = Account.from_key(key)
    return found


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
