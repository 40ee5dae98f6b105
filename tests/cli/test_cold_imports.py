"""What a command may import before it has something to do with it."""

import json
import subprocess
import sys

import pytest
from service_cli.main import COMMANDS

from tests.cli.terminal import Terminal

SLOW = {
    "coincurve", "cryptography", "eth_abi", "eth_account", "eth_keys", "eth_typing", "eth_utils", "http", "nacl",
    "py_arkworks_bls12381", "rfc8785", "ssl", "urllib3", "yaml", "asyncio", "email", "urllib.request",
}  # fmt: skip
LATE = {"eth_account", "eth_abi"}
"""Not before there is something to sign, or an answer to read."""
NEVER = {"web3", "flask", "sqlalchemy", "redis", "rq", "alembic", "psycopg", "structlog", "google"}
PROGRAM = """
import json, sys
from {} import main
try:
    main()
except SystemExit as end:
    code = end.code
sys.stderr.write("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def imported(shell: Terminal, *words: str, program: str = "service_cli.main", **more: str) -> tuple[object, set[str]]:
    """Exit code and imported packages of a whole process."""
    command = [sys.executable, "-c", PROGRAM.format(program), *words]
    done = subprocess.run(
        command, cwd=shell.home, env=shell.variables(**more), capture_output=True, timeout=60, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, {part for module in modules for part in (module, module.partition(".")[0])}


@pytest.mark.parametrize("words", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_help__of_any_command__imports_nothing_slow(shell: Terminal, words: list[str]) -> None:
    code, modules = imported(shell, *words)
    assert (code, modules & (SLOW | NEVER)) == (0, set())


@pytest.mark.parametrize("words", [["--help"], ["--version"]], ids=" ".join)
def test_audit_help__of_the_second_script__imports_nothing_slow(shell: Terminal, words: list[str]) -> None:
    code, modules = imported(shell, *words, program="service_cli.audit.main")
    assert (code, modules & (SLOW | NEVER)) == (0, set())


def test_audit__without_a_key__imports_no_server_no_signing_and_no_codec(shell: Terminal) -> None:
    code, modules = imported(shell, "1", program="service_cli.audit.main", **NOWHERE)
    assert (code, modules & (NEVER | LATE)) == (1, set())


def test_spec_commitment__on_a_page__imports_nothing_slow(shell: Terminal) -> None:
    (shell.home / "page.md").write_bytes(b"x")
    code, modules = imported(shell, "spec-commitment", "page.md")
    assert (code, modules & (SLOW | NEVER)) == (0, set())


KEY = "0x" + "11" * 32
NOWHERE = {
    "SERVICE_HUB_ADDRESS": "0x" + "ab" * 20,
    "SERVICE_RPC_URL": "http://127.0.0.1:9",
    "SERVICE_API_BASE_URL": "http://127.0.0.1:9",
    "SERVICE_SUBGRAPH_ENDPOINT": "http://127.0.0.1:9/subgraph",
    "SERVICE_CHAIN_ID": "8453",
}
ARGUMENTS = {
    "claim": ["--claimant-address", "0x" + "ab" * 20, "1"],
    "verification-record": ["1"],
    "guardian:judgeable": ["--guardian-address", "0x" + "ab" * 20],
    "solver:submit": ["--solver-address", "0x" + "ab" * 20, "1", "."],
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_networked_command__before_its_first_answer__imports_no_server_no_signing_and_no_codec(
    shell: Terminal, name: str
) -> None:
    code, modules = imported(shell, name, *ARGUMENTS[name], **NOWHERE)
    assert (code, modules & (NEVER | LATE)) == (1, set())


KEYED = {
    "poster:open-winning-submission": ("SERVICE_POSTER_PRIVATE_KEY", ["1"]),
    "solver:submit": ("SERVICE_SOLVER_PRIVATE_KEY", ["1", "."]),
    "claim": ("SERVICE_CLAIMANT_PRIVATE_KEY", ["1"]),
    "guardian:heartbeat": ("SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY", []),
}


@pytest.mark.parametrize("name", KEYED)
def test_signing_command__with_nothing_to_sign_yet__imports_no_signing_and_no_codec(shell: Terminal, name: str) -> None:
    variable, arguments = KEYED[name]
    code, modules = imported(shell, name, *arguments, **NOWHERE, **{variable: KEY})
    assert (code, modules & (NEVER | LATE)) == (1, set())


READERS = {
    "verification-record": ["1"],
    "bounty:show": ["1"],
    "bounty:list": [],
    "guardian:judgeable": ["--guardian-address", "0x" + "ab" * 20],
}


@pytest.mark.parametrize("name", READERS)
def test_public_read__of_the_api_alone__imports_no_chain_and_no_cryptography(shell: Terminal, name: str) -> None:
    code, modules = imported(shell, name, *READERS[name], **NOWHERE)
    heavy = {"eth_abi", "eth_utils", "cryptography", "py_arkworks_bls12381", "nacl", "coincurve", "yaml"}
    assert (code, modules & (NEVER | heavy)) == (1, set())
