"""A Safe made by Safe's own factory on a local node, from the contracts that Safe publishes.

It signs what a Safe signs: EIP-712 ``SafeMessage`` over the digest of somebody's typed data, by as many owners as the
threshold says, in the order of their addresses. Transactions go out by ``execTransaction``, from whoever pays the gas.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bounty_protocol.keccak import keccak256
from eth_account import Account
from eth_account.messages import SignableMessage, encode_typed_data
from eth_account.signers.local import LocalAccount
from local_stack.contract import Artifact, Contract, Wallet, deploy, read_artifact
from local_stack.toolbox import ensure_npm_package
from service_indexer.web3_provider import Web3
from web3.types import TxReceipt

NOBODY: Final = "0x" + "00" * 20
_ARTIFACTS: Final = "@safe-global/safe-smart-account/build/artifacts/contracts"
_DOMAIN: Final = [{"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}]
_TRANSACTION: Final = (
    *(("to", "address"), ("value", "uint256"), ("data", "bytes"), ("operation", "uint8"), ("safeTxGas", "uint256")),
    *(("baseGas", "uint256"), ("gasPrice", "uint256"), ("gasToken", "address"), ("refundReceiver", "address")),
    ("nonce", "uint256"),
)


@dataclass(frozen=True, slots=True)
class SafeWallet:
    """One Safe. ``factory`` and ``creation`` make it where it is not there yet."""

    contract: Contract
    chain_id: int
    owners: tuple[LocalAccount, ...]
    threshold: int
    factory: str
    creation: bytes

    @property
    def address(self) -> str:
        return self.contract.address

    def sign_typed_data(self, typed_data: Mapping[str, object]) -> bytes:
        """What the Safe answers when it is asked to sign typed data."""
        return self.sign_digest(_digest(encode_typed_data(full_message=dict(typed_data))))

    def sign_digest(self, digest: bytes, owners: tuple[LocalAccount, ...] = ()) -> bytes:
        """The same over a digest."""
        return self._signed("SafeMessage", [("message", "bytes")], {"message": digest}, owners)

    def sign_on_chain(self, w3: Web3, payer: Wallet, digest: bytes) -> None:
        """Have the Safe note that it signs a digest: an empty signature then counts."""
        modules = ensure_npm_package(Path(__file__).parent)
        library = deploy(w3, payer, _artifact(modules, "libraries/SignMessageLib.sol/SignMessageLib.json"))
        self.execute(payer, library.address, library.encode("signMessage", digest), operation=1)

    def execute(self, payer: Wallet, to: str, data: bytes, *, operation: int = 0) -> TxReceipt:
        """Have the Safe call ``to``, or its code (``operation`` 1); raises unless the call itself succeeds."""
        values = [Web3.to_checksum_address(to), 0, data, operation, 0, 0, 0, NOBODY, NOBODY]
        nonce = self.contract.call("nonce")
        message = dict(zip((name for name, _ in _TRANSACTION), [*values, nonce], strict=True))
        signatures = self._signed("SafeTx", list(_TRANSACTION), message, ())
        return self.contract.transact(payer, "execTransaction", *values, signatures)

    def execute_approved(self, payer: Wallet, to: str, data: bytes, owners: Sequence["SafeWallet"]) -> TxReceipt:
        """The same where the owners are Safes, each of which approves by a transaction of its own."""
        values = [to, 0, data, 0, 0, 0, 0, NOBODY, NOBODY]
        digest = self.contract.call("getTransactionHash", *values, self.contract.call("nonce"))
        for owner in owners:
            owner.execute(payer, self.address, self.contract.encode("approveHash", digest))
        approved = sorted(int(owner.address, 16).to_bytes(32, "big") for owner in owners)
        signatures = b"".join(owner + bytes(32) + b"\x01" for owner in approved)
        return self.contract.transact(payer, "execTransaction", *values, signatures)

    def _signed(
        self, kind: str, fields: list[tuple[str, str]], message: Mapping[str, object], owners: tuple[LocalAccount, ...]
    ) -> bytes:
        typed = {
            "types": {"EIP712Domain": _DOMAIN, kind: [{"name": name, "type": form} for name, form in fields]},
            "primaryType": kind,
            "domain": {"chainId": self.chain_id, "verifyingContract": self.address},
            "message": dict(message),
        }
        signing = owners or self.owners[: self.threshold]
        signable = encode_typed_data(full_message=typed)
        ordered = sorted(signing, key=lambda owner: int(owner.address, 16))
        return b"".join(bytes(owner.sign_message(signable).signature) for owner in ordered)


def make_safe(w3: Web3, payer: Wallet, *, created: bool = True) -> SafeWallet:
    """A Safe of three owners, two of whom sign; ``created`` False leaves it to whoever needs it first."""
    owners = tuple(Account.create() for _ in range(3))
    made = _make(w3, payer, [owner.address for owner in owners], created=created)
    return replace(made, owners=owners)


def make_safe_of(w3: Web3, payer: Wallet, owners: Sequence[str]) -> SafeWallet:
    """A Safe of which other accounts are the owners, two of whom have to approve; it acts by ``execute_approved``."""
    return _make(w3, payer, [Web3.to_checksum_address(owner) for owner in owners], created=True)


def _make(w3: Web3, payer: Wallet, owners: Sequence[str], *, created: bool) -> SafeWallet:
    modules = ensure_npm_package(Path(__file__).parent)
    singleton, handler, factory = (
        deploy(w3, payer, _artifact(modules, path))
        for path in (
            "Safe.sol/Safe.json",
            "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json",
            "proxies/SafeProxyFactory.sol/SafeProxyFactory.json",
        )
    )
    setup = singleton.encode("setup", owners, 2, NOBODY, b"", handler.address, NOBODY, 0, NOBODY)
    creation = factory.encode("createProxyWithNonce", singleton.address, setup, 7)
    address = str(factory.call("createProxyWithNonce", singleton.address, setup, 7)).lower()
    contract = Contract(w3, address, singleton.abi)
    if created:
        factory.transact(payer, "createProxyWithNonce", singleton.address, setup, 7)
    return SafeWallet(contract, w3.eth.chain_id, (), 2, factory.address, creation)


def _artifact(modules: Path, path: str) -> Artifact:
    return read_artifact(modules / _ARTIFACTS / path)


def _digest(message: SignableMessage) -> bytes:
    return keccak256(b"\x19" + message.version + message.header + message.body)
