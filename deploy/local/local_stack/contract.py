"""Contracts of the local chain, by web3: calls encoded from an ABI, transactions signed here and sent raw.

A private key stays in this process (the node never gets one). Nonces are counted here so that a whole script of
transactions goes out at once, and a reverted transaction raises with the contract's own error name. Accounts are lower
case, in and out. For tests and the local stack.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from bounty_protocol.chain.rpc import RpcRefused
from eth_utils.abi import (
    abi_to_signature,
    function_abi_to_4byte_selector,
    function_signature_to_4byte_selector,
    get_abi_input_types,
    get_abi_output_types,
)
from hexbytes import HexBytes
from service_indexer.web3_provider import Account, LocalAccount, Web3
from web3.exceptions import TimeExhausted
from web3.types import Nonce, TxParams, TxReceipt, Wei
from web3.utils.address import get_create_address

from local_stack.process import StackError

CALL_GAS: Final = 3_000_000
DEPLOY_GAS: Final = 10_000_000
_TIP: Final = 10**9
_RECEIPT_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.5
"""How often a caller that waits is asked whether to go on."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled contract as ``contracts/artifacts`` holds it."""

    abi: Sequence[Mapping[str, Any]]
    bytecode: bytes


class Wallet:
    """One private key of the local chain, made at run time."""

    def __init__(self, account: LocalAccount | None = None) -> None:
        self._account = account or Account.create()
        self._nonce: int | None = None

    @property
    def address(self) -> str:
        """The account, lowercase."""
        return str(self._account.address).lower()

    @property
    def private_key(self) -> str:
        """0x-hex; a secret, for files of mode 0600 and environments of child processes."""
        return str(Web3.to_hex(self._account.key))

    def send(self, w3: Web3, data: bytes, *, to: str | None = None, value: int = 0, gas: int = CALL_GAS) -> HexBytes:
        """Sign and send one transaction; its hash. Gas is given, not estimated, so that scripts need no blocks."""
        nonce = self._next_nonce(w3)
        transaction: TxParams = {
            "chainId": w3.eth.chain_id,
            "nonce": Nonce(nonce),
            "maxFeePerGas": Wei(2 * w3.eth.gas_price + _TIP),
            "maxPriorityFeePerGas": Wei(_TIP),
            "gas": gas,
            "value": Wei(value),
            "data": data,
        }
        if to is not None:
            transaction["to"] = Web3.to_checksum_address(to)
        signed = self._account.sign_transaction(cast("dict[str, Any]", transaction))
        tx_hash = w3.eth.send_raw_transaction(signed.raw_transaction)
        self._nonce = nonce + 1
        return tx_hash

    def next_contract(self, w3: Web3) -> str:
        """Return the address of the contract that this wallet's next transaction would create."""
        return get_create_address(self._account.address, Nonce(self._next_nonce(w3))).lower()

    def forget_nonce(self) -> None:
        """Read the nonce from the chain again: another program has used this key, or a transaction was dropped."""
        self._nonce = None

    def _next_nonce(self, w3: Web3) -> int:
        if self._nonce is None:
            self._nonce = w3.eth.get_transaction_count(self._account.address, "pending")
        return self._nonce


@dataclass(frozen=True, slots=True)
class Contract:
    """One deployed contract."""

    w3: Web3
    address: str
    abi: Sequence[Mapping[str, Any]] = field(repr=False)

    def encode(self, name: str, *arguments: object) -> bytes:
        """Calldata of a function; of overloads, the first with this many arguments."""
        entry = self._function(name, len(arguments))
        return function_abi_to_4byte_selector(entry) + self.w3.codec.encode(get_abi_input_types(entry), arguments)

    def call(self, name: str, *arguments: object) -> Any:
        """Return the decoded answer of a view: one value as itself, several as a tuple."""
        answer = self.w3.eth.call({"to": Web3.to_checksum_address(self.address), "data": self.encode(name, *arguments)})
        values = self.w3.codec.decode(get_abi_output_types(self._function(name, len(arguments))), answer)
        return values[0] if len(values) == 1 else values

    def send(self, wallet: Wallet, name: str, *arguments: object, gas: int = CALL_GAS) -> HexBytes:
        """Send a transaction without waiting for it; its hash."""
        return wallet.send(self.w3, self.encode(name, *arguments), to=self.address, gas=gas)

    def transact(self, wallet: Wallet, name: str, *arguments: object, gas: int = CALL_GAS) -> TxReceipt:
        """Send a transaction and wait for its success."""
        return wait_for(self.w3, self.send(wallet, name, *arguments, gas=gas), abi=self.abi)

    def _function(self, name: str, count: int) -> Any:
        for entry in self.abi:
            if entry["type"] == "function" and entry["name"] == name and len(entry["inputs"]) == count:
                return entry
        raise KeyError(f"the contract has no function {name} of {count} arguments")


def read_artifact(path: Path) -> Artifact:
    """Read a committed artifact; ``StackError`` names one that is missing."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Artifact(content["abi"], bytes.fromhex(content["bytecode"].removeprefix("0x")))
    except (OSError, KeyError, ValueError) as error:
        raise StackError(f"the contract artifact {path.name} cannot be read: {error}") from error


def send_deployment(w3: Web3, wallet: Wallet, artifact: Artifact, *arguments: object) -> HexBytes:
    """Send a contract creation without waiting for it; its hash."""
    constructors: list[Any] = [entry for entry in artifact.abi if entry["type"] == "constructor"]
    types = [type_ for entry in constructors for type_ in get_abi_input_types(entry)]
    return wallet.send(w3, artifact.bytecode + w3.codec.encode(types, arguments), gas=DEPLOY_GAS)


def deploy(w3: Web3, wallet: Wallet, artifact: Artifact, *arguments: object) -> Contract:
    """Create a contract and wait for it."""
    receipt = wait_for(w3, send_deployment(w3, wallet, artifact, *arguments), abi=artifact.abi)
    return Contract(w3, str(receipt["contractAddress"]).lower(), artifact.abi)


def wait_for(
    w3: Web3,
    tx_hash: HexBytes,
    *,
    abi: Sequence[Mapping[str, Any]] = (),
    checkpoint: Callable[[], None] = lambda: None,
) -> TxReceipt:
    """Wait until a transaction is mined; ``StackError`` when it reverted or does not come."""
    deadline = time.monotonic() + _RECEIPT_SECONDS
    receipt: TxReceipt | None = None
    while receipt is None:
        checkpoint()
        try:
            receipt = w3.eth.wait_for_transaction_receipt(tx_hash, _LOOK_SECONDS, poll_latency=0.02)
        except TimeExhausted:
            if time.monotonic() > deadline:
                problem = f"was not mined within {_RECEIPT_SECONDS:g} s"
                raise StackError(f"transaction {tx_hash.to_0x_hex()} {problem}") from None
    if receipt["status"] != 1:
        raise StackError(f"transaction {tx_hash.to_0x_hex()} reverted: {_reason(w3, receipt, abi)}")
    return receipt


def _reason(w3: Web3, receipt: TxReceipt, abi: Sequence[Mapping[str, Any]]) -> str:
    """Return the contract's own error, found by repeating the call on the block."""
    transaction = w3.eth.get_transaction(receipt["transactionHash"])
    call: TxParams = {"from": transaction["from"], "data": transaction["input"]}
    if transaction.get("to") is not None:
        call["to"] = transaction["to"]
    try:
        w3.eth.call(call, receipt["blockNumber"])
    except RpcRefused as refusal:
        errors: list[Any] = [entry for entry in abi if entry["type"] == "error"]
        for entry in errors:
            if function_signature_to_4byte_selector(abi_to_signature(entry)) == refusal.data[:4]:
                return str(entry["name"])
        return "".join(character for character in refusal.message if character.isprintable()).rstrip(" :")
    return "out of gas"
