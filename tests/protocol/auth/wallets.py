"""Contract wallets for tests, each a few instructions of the EVM: honest ones, hostile ones, and their factory.

The factory is the deterministic CREATE2 deployer that every chain has: its input is a salt and creation code.
"""

import time
from dataclasses import dataclass
from typing import Final

from bounty_protocol.chain.rpc import Rpc
from bounty_protocol.keccak import keccak256
from bounty_protocol.types import Address, address_of, parse_address, to_bytes
from eth_account import Account
from local_stack.anvil import ETHER, AnvilServer

CREATE2_DEPLOYER: Final = Address("0x4e59b44847b379578588920ca78fbf26c0b4956c")
MAGIC: Final = bytes.fromhex("1626ba7e").ljust(32, b"\0")
WRAPPED: Final = bytes.fromhex("6492" * 16)


def owner_wallet(owner: Address) -> bytes:
    """isValidSignature(hash, sig) that accepts exactly 65 bytes r || s || v of ``owner``, as ecrecover reads them."""
    return bytes.fromhex(
        "6004355f52"  # mem[0] = hash
        "60a4355f1a602052"  # mem[32] = v
        "606435604052"  # mem[64] = r
        "608435606052"  # mem[96] = s
        "6020608060805f60015afa50"  # ecrecover into mem[128]
        "60805173" + owner[2:] + "14"  # is it the owner
        "6044356041146001"  # and is the signature 65 bytes long
        "0216"
        "631626ba7e0260e01b5f5260205ff3"
    )


ACCEPT_ALL: Final = b"\x7f" + MAGIC + bytes.fromhex("5f5260205ff3")
GARBAGE: Final = b"\x7f" + b"\xff" * 32 + bytes.fromhex("5f5260205ff3")
TRUE: Final = bytes.fromhex("60015f5260205ff3")
FOUR_BYTES: Final = b"\x7f" + MAGIC + bytes.fromhex("5f5260045ff3")
MAGIC_AND_DIRT: Final = b"\x7f" + MAGIC[:31] + b"\x01" + bytes.fromhex("5f5260205ff3")
EMPTY_ANSWER: Final = bytes.fromhex("00")
REVERT: Final = bytes.fromhex("5f5ffd")
REVERT_WITH_MAGIC: Final = b"\x7f" + MAGIC + bytes.fromhex("5f5260205ffd")
INVALID: Final = bytes.fromhex("fe")
ENDLESS: Final = bytes.fromhex("5b5f56")
TEN_MEBIBYTES: Final = bytes.fromhex("62a000005ff3")
ONE_MEBIBYTE: Final = bytes.fromhex("621000005ff3")
MAGIC_AND_A_MEBIBYTE: Final = b"\x7f" + MAGIC + bytes.fromhex("5f52621000005ff3")
MAGIC_TWICE: Final = b"\x7f" + MAGIC + bytes.fromhex("805f5260205260405ff3")
WRITES: Final = bytes.fromhex("60015f55") + ACCEPT_ALL
"""Stores a word first: not allowed to a signature check."""

HOSTILE: Final = {
    "returns garbage": GARBAGE,
    "returns true": TRUE,
    "returns four bytes": FOUR_BYTES,
    "returns the magic value with dirt": MAGIC_AND_DIRT,
    "returns the magic value and a MiB behind it": MAGIC_AND_A_MEBIBYTE,
    "returns the magic value twice": MAGIC_TWICE,
    "returns nothing": EMPTY_ANSWER,
    "reverts": REVERT,
    "reverts with the magic value": REVERT_WITH_MAGIC,
    "is invalid": INVALID,
    "burns all gas": ENDLESS,
    "returns 10 MiB": TEN_MEBIBYTES,
    "returns 1 MiB": ONE_MEBIBYTE,
    "writes state": WRITES,
}


def creation(runtime: bytes) -> bytes:
    """Creation code of a contract."""
    return b"\x61" + len(runtime).to_bytes(2, "big") + bytes.fromhex("80600a5f395ff3") + runtime


@dataclass(frozen=True, slots=True)
class Undeployed:
    """A wallet that the CREATE2 deployer can make at an address known beforehand."""

    runtime: bytes
    salt: bytes = bytes(32)

    @property
    def address(self) -> Address:
        code = keccak256(creation(self.runtime))
        return address_of(keccak256(b"\xff" + to_bytes(CREATE2_DEPLOYER) + self.salt + code)[12:])

    @property
    def factory_call(self) -> bytes:
        return self.salt + creation(self.runtime)

    def wrap(self, inner: bytes, factory: Address = CREATE2_DEPLOYER) -> bytes:
        """The ERC-6492 form of a signature of this wallet."""
        return wrapper(factory, self.factory_call, inner)

    def deploy(self, node: AnvilServer) -> Address:
        """Make it."""
        payer = Account.create()
        node.fund(payer.address, ETHER)
        send(node, payer, {"to": to_bytes(CREATE2_DEPLOYER), "data": self.factory_call})
        return self.address


def wrapper(factory: Address, call: bytes, inner: bytes) -> bytes:
    """abi.encode(factory, call, inner) and the magic suffix."""

    def tail(data: bytes) -> bytes:
        return len(data).to_bytes(32, "big") + data + bytes(-len(data) % 32)

    first = tail(call)
    head = to_bytes(factory).rjust(32, b"\0") + (96).to_bytes(32, "big") + (96 + len(first)).to_bytes(32, "big")
    return head + first + tail(inner) + WRAPPED


def place(node: AnvilServer, runtime: bytes, label: str = "wallet") -> Address:
    """Put code at an address."""
    address = address_of(keccak256(label.encode())[12:])
    Rpc([node.url]).call("anvil_setCode", address, "0x" + runtime.hex())
    return address


def delegate(node: AnvilServer, secret: bytes, to: Address) -> Address:
    """Give a plain account the code of another by EIP-7702, in a real transaction of its own."""
    account = Account.from_key(secret)
    node.fund(account.address, ETHER)
    authorization = account.sign_authorization({"chainId": node.chain_id, "address": to, "nonce": 1})
    send(node, account, {"to": bytes(20), "data": b"", "authorizationList": [authorization]})
    return parse_address(account.address.lower())


def send(node: AnvilServer, account: object, fields: dict[str, object]) -> None:
    """One transaction, mined."""
    fees = {"maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9, "gas": 3_000_000, "value": 0, "nonce": 0}
    signed = account.sign_transaction({"chainId": node.chain_id, **fees, **fields})  # type: ignore[attr-defined]
    sent = node.rpc.call("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
    for _ in range(500):  # the node mines at once, but after it has answered
        if isinstance(receipt := node.rpc.call("eth_getTransactionReceipt", sent), dict):
            assert receipt["status"] == "0x1"
            return
        time.sleep(0.01)
    raise AssertionError("not mined")
