"""A Safe made by Safe's own factory on a local node, from the contracts that Safe publishes.

It signs what a Safe signs: EIP-712 ``SafeMessage`` over the digest of somebody's typed data, by as many owners as the
threshold says, in the order of their addresses. Transactions go out by ``execTransaction``, from whoever pays the gas.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from eth_account import Account
from eth_account.messages import SignableMessage, encode_typed_data
from eth_account.signers.local import LocalAccount
from local_stack.contract import Artifact, Contract, Wallet, deploy, read_artifact
from local_stack.toolbox import ensure_npm_package
from service_common.keccak import keccak256
from service_common.web3_provider import Web3
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

    def execute(self, payer: Wallet, to: str, data: bytes) -> TxReceipt:
        """Have the Safe call ``to``; raises unless the call itself succeeds."""
        values = [to, 0, data, 0, 0, 0, 0, NOBODY, NOBODY]
        nonce = self.contract.call("nonce")
        message = dict(zip((name for name, _ in _TRANSACTION), [*values, nonce], strict=True))
        signatures = self._signed("SafeTx", list(_TRANSACTION), message, ())
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
    modules = ensure_npm_package(Path(__file__).parent)
    owners = tuple(Account.create() for _ in range(3))
    singleton, handler, factory = (
        deploy(w3, payer, _artifact(modules, path))
        for path in (
            "Safe.sol/Safe.json",
            "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json",
            "proxies/SafeProxyFactory.sol/SafeProxyFactory.json",
        )
    )
    addresses = [owner.address for owner in owners]
    setup = singleton.encode("setup", addresses, 2, NOBODY, b"", handler.address, NOBODY, 0, NOBODY)
    creation = factory.encode("createProxyWithNonce", singleton.address, setup, 7)
    address = str(factory.call("createProxyWithNonce", singleton.address, setup, 7)).lower()
    contract = Contract(w3, address, singleton.abi)
    safe = SafeWallet(contract, w3.eth.chain_id, owners, 2, factory.address, creation)
    if created:
        factory.transact(payer, "createProxyWithNonce", singleton.address, setup, 7)
    return safe


def _artifact(modules: Path, path: str) -> Artifact:
    return read_artifact(modules / _ARTIFACTS / path)


def _digest(message: SignableMessage) -> bytes:
    return keccak256(b"\x19" + message.version + message.header + message.body)
