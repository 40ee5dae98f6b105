"""Contracts of the local chain: calls encoded from an ABI, transactions signed here and sent raw.

Promises: a private key stays in this process (the node never gets one), nonces are counted here so that a whole script
of transactions goes out at once, a reverted transaction raises with the contract's own error name. For tests and the
local stack; the services and the client have their own code for this.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from eth_abi.abi import decode, encode
from eth_account import Account as Keys
from eth_account.signers.local import LocalAccount
from service_common.keccak import keccak256

from local_stack.process import StackError
from local_stack.rpc import JsonRpc, RpcRefused

CALL_GAS: Final = 3_000_000
DEPLOY_GAS: Final = 10_000_000
_TIP: Final = 10**9
_RECEIPT_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled contract as ``contracts/artifacts`` holds it."""

    abi: Sequence[Mapping[str, Any]]
    bytecode: bytes


class Wallet:
    """One private key of the local chain, made at run time."""

    def __init__(self, key: LocalAccount | None = None) -> None:
        self._key = key or Keys.create()
        self._nonce: int | None = None

    @property
    def address(self) -> str:
        """The account, lowercase."""
        return str(self._key.address).lower()

    @property
    def private_key(self) -> str:
        """0x-hex; a secret, for files of mode 0600 and environments of child processes."""
        return "0x" + bytes(self._key.key).hex()

    def send(self, rpc: JsonRpc, data: bytes, *, to: str | None = None, value: int = 0, gas: int = CALL_GAS) -> str:
        """Sign and send one transaction; its hash. Gas is given, not estimated, so that scripts need no blocks."""
        nonce = self._next_nonce(rpc)
        transaction: dict[str, Any] = {
            "type": 2,
            "chainId": rpc.number("eth_chainId"),
            "nonce": nonce,
            "maxFeePerGas": 2 * rpc.number("eth_gasPrice") + _TIP,
            "maxPriorityFeePerGas": _TIP,
            "gas": gas,
            "value": value,
            "data": data,
        }
        if to is not None:
            transaction["to"] = bytes.fromhex(to[2:])
        signed = self._key.sign_transaction(transaction)
        hash_ = rpc.text("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
        self._nonce = nonce + 1
        return hash_

    def next_contract(self, rpc: JsonRpc) -> str:
        """The address of the contract that this wallet's next transaction would create."""
        nonce = self._next_nonce(rpc)
        number = nonce.to_bytes((nonce.bit_length() + 7) // 8, "big")
        item = number if len(number) == 1 and nonce < 0x80 else bytes([0x80 + len(number)]) + number
        body = b"\x94" + bytes.fromhex(self.address[2:]) + item  # RLP: a list of 20 bytes and a number
        return "0x" + keccak256(bytes([0xC0 + len(body)]) + body)[12:].hex()

    def forget_nonce(self) -> None:
        """Ask the chain again: another program has used this key, or a transaction was dropped."""
        self._nonce = None

    def _next_nonce(self, rpc: JsonRpc) -> int:
        if self._nonce is None:
            self._nonce = rpc.number("eth_getTransactionCount", self.address, "pending")
        return self._nonce


@dataclass(frozen=True, slots=True)
class Receipt:
    """A transaction that was mined and succeeded."""

    hash: str
    block_number: int
    contract_address: str | None
    gas_used: int


@dataclass(frozen=True, slots=True)
class Contract:
    """One deployed contract."""

    rpc: JsonRpc
    address: str
    abi: Sequence[Mapping[str, Any]] = field(repr=False)

    def encode(self, name: str, *arguments: object) -> bytes:
        """Calldata of a function; of overloads, the first with this many arguments."""
        entry = self._function(name, len(arguments))
        types = [abi_type(parameter) for parameter in entry["inputs"]]
        return selector(name, types) + encode(types, arguments)

    def call(self, name: str, *arguments: object) -> Any:
        """The decoded answer of a view: one value as itself, several as a tuple."""
        entry = self._function(name, len(arguments))
        data = "0x" + self.encode(name, *arguments).hex()
        answer = self.rpc.text("eth_call", {"to": self.address, "data": data}, "latest")
        values = decode([abi_type(parameter) for parameter in entry["outputs"]], bytes.fromhex(answer[2:]))
        return values[0] if len(values) == 1 else values

    def send(self, wallet: Wallet, name: str, *arguments: object, gas: int = CALL_GAS) -> str:
        """Send a transaction without waiting for it; its hash."""
        return wallet.send(self.rpc, self.encode(name, *arguments), to=self.address, gas=gas)

    def transact(self, wallet: Wallet, name: str, *arguments: object, gas: int = CALL_GAS) -> Receipt:
        """Send a transaction and wait for its success."""
        return wait_for(self.rpc, self.send(wallet, name, *arguments, gas=gas), abi=self.abi)

    def _function(self, name: str, count: int) -> Mapping[str, Any]:
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


def send_deployment(rpc: JsonRpc, wallet: Wallet, artifact: Artifact, *arguments: object) -> str:
    """Send a contract creation without waiting for it; its hash."""
    types = [abi_type(part) for entry in artifact.abi if entry["type"] == "constructor" for part in entry["inputs"]]
    return wallet.send(rpc, artifact.bytecode + encode(types, arguments), gas=DEPLOY_GAS)


def deploy(rpc: JsonRpc, wallet: Wallet, artifact: Artifact, *arguments: object) -> Contract:
    """Create a contract and wait for it."""
    receipt = wait_for(rpc, send_deployment(rpc, wallet, artifact, *arguments), abi=artifact.abi)
    return Contract(rpc, receipt.contract_address or "", artifact.abi)


def wait_for(
    rpc: JsonRpc,
    hash_: str,
    *,
    abi: Sequence[Mapping[str, Any]] = (),
    checkpoint: Callable[[], None] = lambda: None,
) -> Receipt:
    """Wait until a transaction is mined; ``StackError`` when it reverted or does not come."""
    deadline = time.monotonic() + _RECEIPT_SECONDS
    while (receipt := rpc.record("eth_getTransactionReceipt", hash_)) is None:
        checkpoint()
        if time.monotonic() > deadline:
            raise StackError(f"transaction {hash_} was not mined within {_RECEIPT_SECONDS:g} s")
        time.sleep(0.02)
    if receipt["status"] != "0x1":
        raise StackError(f"transaction {hash_} reverted: {_reason(rpc, hash_, abi)}")
    address = receipt.get("contractAddress")
    return Receipt(
        hash=hash_,
        block_number=int(cast(str, receipt["blockNumber"]), 16),
        contract_address=address.lower() if isinstance(address, str) else None,
        gas_used=int(cast(str, receipt["gasUsed"]), 16),
    )


def selector(name: str, types: Sequence[str]) -> bytes:
    """The first four bytes of a function's or error's hash."""
    return keccak256(f"{name}({','.join(types)})".encode())[:4]


def abi_type(parameter: Mapping[str, Any]) -> str:
    """The canonical type of an ABI entry, structs spelled out."""
    kind = str(parameter["type"])
    if not kind.startswith("tuple"):
        return kind
    return f"({','.join(abi_type(part) for part in parameter['components'])}){kind[5:]}"


def _reason(rpc: JsonRpc, hash_: str, abi: Sequence[Mapping[str, Any]]) -> str:
    """The contract's own error, found by repeating the call on the block before."""
    transaction = rpc.record("eth_getTransactionByHash", hash_) or {}
    call = {"from": transaction.get("from"), "to": transaction.get("to"), "data": transaction.get("input")}
    try:
        rpc.call("eth_call", call, transaction.get("blockNumber"))
    except RpcRefused as error:
        words = str(error)
        for entry in abi:
            if entry["type"] == "error":
                code = selector(entry["name"], [abi_type(part) for part in entry["inputs"]]).hex()
                words = words.replace(f"custom error 0x{code}", entry["name"])
        return "".join(character for character in words if character.isprintable()).rstrip(" :")
    return "out of gas"
