"""EntryPoint 0.7, the factory of SimpleAccount and a paymaster, of the bytecode that their authors publish.

EntryPoint and factory get the addresses that they have on every public chain, since they are created as there. The
paymaster is VerifyingPaymaster, which pays for whatever a key signs: here a key made at run time.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from local_stack.anvil import ETHER, AnvilServer
from local_stack.contract import DEPLOY_GAS, Artifact, Contract, Wallet, read_artifact, send_deployment, wait_for
from service_common.web3_provider import Account, LocalAccount, Web3

from tests.e2e.smart_accounts.packages import ensure_packages
from tests.protocol.auth.wallets import CREATE2_DEPLOYER

ENTRY_POINT: Final = "0x0000000071727de22e5e9d8baf0edac6f37da032"
FACTORY: Final = "0x91e60e0613810449d098b0b5ec8b51a0fe8c8985"
_ENTRY_POINT_SALT: Final = bytes.fromhex("90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3")
_UNSTAKE_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class AccountContracts:
    """The contracts on one chain. ``sponsor`` is the key whose signature the paymaster pays for."""

    w3: Web3
    entry_point: Contract
    factory: Contract
    account: Artifact
    paymaster: Contract
    sponsor: LocalAccount = field(repr=False)

    def address_of(self, owner: str) -> str:
        """The account of an owner, lowercase, whether it is there yet or not."""
        return str(self.factory.call("getAddress", owner, 0)).lower()

    def nonce_of(self, account: str) -> int:
        """How many operations of an account were mined."""
        return int(self.entry_point.call("getNonce", account, 0))

    def deposit(self) -> int:
        """What the paymaster can still pay, in wei."""
        return int(self.entry_point.call("balanceOf", self.paymaster.address))


def deploy_contracts(node: AnvilServer) -> AccountContracts:
    """Put everything on a running node; the paymaster gets a deposit of 100 ether and a stake of 10.

    May be called again on the same node: it then makes another paymaster. Raises ``StackError`` where a transaction
    or npm fails.
    """
    w3, payer, sponsor = node.w3, Wallet(), Account.create()
    node.fund(payer.address)
    entry_point = artifact("EntryPoint")
    factory = artifact("SimpleAccountFactory")
    argument = w3.codec.encode(["address"], [ENTRY_POINT])
    fixed = {
        ENTRY_POINT: _ENTRY_POINT_SALT + entry_point.bytecode,
        FACTORY: bytes(32) + factory.bytecode + argument,
    }
    missing = [data for address, data in fixed.items() if not _has_code(w3, address)]
    sent = [payer.send(w3, data, to=CREATE2_DEPLOYER, gas=DEPLOY_GAS) for data in missing]
    verifying = artifact("VerifyingPaymaster")
    paymaster = Contract(w3, payer.next_contract(w3), verifying.abi)
    sent.append(send_deployment(w3, payer, verifying, ENTRY_POINT, sponsor.address))
    deposit, stake = paymaster.encode("deposit"), paymaster.encode("addStake", _UNSTAKE_SECONDS)
    sent.append(payer.send(w3, deposit, to=paymaster.address, value=100 * ETHER))
    sent.append(payer.send(w3, stake, to=paymaster.address, value=10 * ETHER))
    for each in sent:
        wait_for(w3, each)
    for address in fixed:
        assert _has_code(w3, address), f"the package has other bytecode than that of {address}"
    return AccountContracts(
        w3,
        Contract(w3, ENTRY_POINT, entry_point.abi),
        Contract(w3, FACTORY, factory.abi),
        artifact("SimpleAccount"),
        paymaster,
        sponsor,
    )


def artifact(name: str) -> Artifact:
    """What the authors publish of 0.7."""
    folder: Path = ensure_packages() / "@account-abstraction/contracts/artifacts"
    return read_artifact(folder / f"{name}.json")


def _has_code(w3: Web3, address: str) -> bool:
    return bool(w3.eth.get_code(Web3.to_checksum_address(address)))
