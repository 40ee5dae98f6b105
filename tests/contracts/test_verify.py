"""The check of a deployed Hub by hand, on a small contract under the Hub's name, on the project's node."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from bounty_protocol.chain.rpc import Rpc
from hexbytes import HexBytes
from local_stack import anvil
from local_stack.toolbox import ensure_npm_package, find_npm

from tests.contracts.evm import ARTIFACTS

TOOLS: Final = ARTIFACTS.parent / "tools"
SETTINGS: Final = json.loads((ARTIFACTS / "Hub.json").read_text(encoding="utf-8"))["compiler"]["settings"]
SOURCE: Final = """// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title Small
contract Hub {
    uint256 public immutable fee;

    constructor() {
        fee = block.number + 41;
    }

    function twice() external view returns (uint256) {
        return 2 * fee;
    }
}
"""
ACCOUNT: Final = "0x" + "ab" * 20


def standard_input(source: str) -> dict[str, Any]:
    return {"language": "Solidity", "sources": {"src/Hub.sol": {"content": source}}, "settings": SETTINGS}


@pytest.fixture(scope="module")
def node_program() -> str:
    ensure_npm_package(TOOLS.parent)
    return str(Path(find_npm()[0]).parent / "node")


@pytest.fixture(scope="module")
def answer(node_program: str) -> Iterator[str]:
    """What a node answers to eth_getCode for the small contract."""
    wanted = standard_input(SOURCE)
    wanted["settings"] = {**SETTINGS, "outputSelection": {"*": {"*": ["evm.bytecode.object"]}}}
    done = subprocess.run(
        [node_program, TOOLS / "solc", "--standard-json"],
        input=json.dumps(wanted), capture_output=True, text=True, check=True,
    )  # fmt: skip
    code = json.loads(done.stdout)["contracts"]["src/Hub.sol"]["Hub"]["evm"]["bytecode"]["object"]
    with anvil.start(mining="automine") as node:
        rpc = Rpc([node.url])
        rpc.call("anvil_autoImpersonateAccount", True)
        rpc.call("anvil_setBalance", ACCOUNT, hex(10**18))
        sent = rpc.call("eth_sendTransaction", {"from": ACCOUNT, "data": "0x" + code})
        receipt = node.w3.eth.wait_for_transaction_receipt(HexBytes(str(sent)), poll_latency=0.05)
        found = rpc.call("eth_getCode", receipt["contractAddress"], "latest")
        yield json.dumps({"jsonrpc": "2.0", "id": 1, "result": found})


def verify(node_program: str, folder: Path, source: str, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "input.json").write_text(json.dumps(standard_input(source)), encoding="utf-8")
    (folder / "code.json").write_text(code, encoding="ascii")
    files: list[str | Path] = [folder / "input.json", folder / "code.json"]
    command = [sys.executable, TOOLS / "verify.py", "--node", node_program, *files]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_source_of_the_code_names_its_immutables(node_program: str, answer: str, tmp_path: Path) -> None:
    done = verify(node_program, tmp_path, SOURCE, answer)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split() == ["fee", f"0x{42:064x}"]


def test_verify__another_comment__differs(node_program: str, answer: str, tmp_path: Path) -> None:
    done = verify(node_program, tmp_path, SOURCE.replace("Small", "Smaller"), answer)
    assert (done.returncode, bool(done.stderr)) == (1, True)


def test_verify__another_byte__is_named(node_program: str, answer: str, tmp_path: Path) -> None:
    code = bytearray.fromhex(json.loads(answer)["result"][2:])
    code[40] ^= 1
    done = verify(node_program, tmp_path, SOURCE, "0x" + code.hex())
    assert done.returncode == 1
    assert "byte 40 " in done.stderr


def test_verify__no_code__asks_to_look_again(node_program: str, tmp_path: Path) -> None:
    done = verify(node_program, tmp_path, SOURCE, "0x")
    assert done.returncode == 1
    assert "ask another node" in done.stderr
