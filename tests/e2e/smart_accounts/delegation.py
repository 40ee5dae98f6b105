"""An account's code by EIP-7702, compiled from the source beside this module with the Hub's compiler and settings."""

import json
import subprocess
from pathlib import Path
from typing import Final

from local_stack.anvil import AnvilServer
from local_stack.contract import DEPLOY_GAS, Wallet, wait_for
from local_stack.toolbox import ensure_npm_package, find_npm

from tests.contracts.evm import ARTIFACTS

_TOOLS: Final = ARTIFACTS.parent / "tools"
_SOURCE: Final = Path(__file__).with_name("DelegatedAccount.sol")


def deploy_code(node: AnvilServer) -> str:
    """Put the code that accounts are delegated to on a node; gives its address, lowercase."""
    payer = Wallet()
    node.fund(payer.address)
    address = payer.next_contract(node.w3)
    wait_for(node.w3, payer.send(node.w3, _compiled(), to=None, gas=DEPLOY_GAS))
    return str(address).lower()


def delegate(node: AnvilServer, account: str, code: str) -> None:
    """Delegate an account, as a transaction with an authorization by its key does (EIP-7702)."""
    node.rpc.call("anvil_setCode", account, "0xef0100" + code[2:])


def _compiled() -> bytes:
    ensure_npm_package(_TOOLS.parent)
    settings = json.loads((ARTIFACTS / "Hub.json").read_text(encoding="utf-8"))["compiler"]["settings"]
    wanted = {
        "language": "Solidity",
        "sources": {_SOURCE.name: {"content": _SOURCE.read_text(encoding="utf-8")}},
        "settings": settings | {"outputSelection": {"*": {"*": ["evm.bytecode.object"]}}},
    }
    command = [str(Path(find_npm()[0]).parent / "node"), str(_TOOLS / "solc"), "--standard-json"]
    done = subprocess.run(command, input=json.dumps(wanted), capture_output=True, text=True, check=True)
    contract = json.loads(done.stdout)["contracts"][_SOURCE.name]["DelegatedAccount"]
    return bytes.fromhex(contract["evm"]["bytecode"]["object"])
