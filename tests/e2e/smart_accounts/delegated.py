"""EntryPoint 0.8 and what a key is delegated to (EIP-7702), of the bytecode that their authors publish.

Both get the addresses at which programs look for them. They are put there, and not created, so that the EntryPoint
creates no account by a factory, which a delegated key does not need. The paymaster is that of 0.7 with this EntryPoint.
"""

from dataclasses import replace
from typing import Final

from local_stack.anvil import ETHER, AnvilServer
from local_stack.contract import Contract, Wallet, read_artifact, send_deployment, wait_for

from tests.e2e.smart_accounts.contracts import ENTRY_POINT, AccountContracts
from tests.e2e.smart_accounts.packages import ensure_packages

ENTRY_POINT_08: Final = "0x4337084d9e255ff0702461cf8895ce9e3b5ff108"
DELEGATE: Final = "0xe6cae83bde06e4c305530e199d7217f42808555b"
"""Simple7702Account, where viem's ``toSimple7702SmartAccount`` has it."""


def deploy_for_keys(node: AnvilServer, contracts: AccountContracts) -> AccountContracts:
    """The same for keys that are delegated; the paymaster gets a deposit of 100 ether."""
    w3, payer = node.w3, Wallet()
    node.fund(payer.address)
    folder = ensure_packages() / "@account-abstraction/contracts-0.8/artifacts"
    made = {}
    for name, address in (("EntryPoint", ENTRY_POINT_08), ("Simple7702Account", DELEGATE)):
        made[name], created = read_artifact(folder / f"{name}.json"), payer.next_contract(w3)
        wait_for(w3, send_deployment(w3, payer, made[name]))
        _put(node, address, _code(node, created))
    entry_point = Contract(w3, ENTRY_POINT_08, made["EntryPoint"].abi)
    former = contracts.paymaster.address
    paymaster = "0x" + bytes.fromhex(former[2:])[::-1].hex()
    _put(
        node, paymaster, _code(node, former).replace(bytes.fromhex(ENTRY_POINT[2:]), bytes.fromhex(ENTRY_POINT_08[2:]))
    )
    wait_for(w3, payer.send(w3, entry_point.encode("depositTo", paymaster), to=ENTRY_POINT_08, value=100 * ETHER))
    return replace(contracts, entry_point=entry_point, paymaster=Contract(w3, paymaster, contracts.paymaster.abi))


def _code(node: AnvilServer, address: str) -> bytes:
    return bytes(node.w3.eth.get_code(node.w3.to_checksum_address(address)))


def _put(node: AnvilServer, address: str, code: bytes) -> None:
    node.rpc.call("anvil_setCode", address, f"0x{code.hex()}")
