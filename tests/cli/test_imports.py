"""What a command may import before it has something to do with it."""

import json
import subprocess
import sys

import pytest
from demo.examples import EXAMPLES
from service_cli.main import COMMANDS

from tests.cli.terminal import Terminal

PAGE = (EXAMPLES / "bounty_challenge.md").read_bytes()
SLOW = {
    "btclib_libsecp256k1", "coincurve", "cryptography", "eth_abi", "eth_account", "eth_keys", "eth_typing", "eth_utils",
    "http", "nacl", "py_arkworks_bls12381", "rfc8785", "ssl", "urllib3", "yaml", "asyncio", "email", "urllib.request",
}  # fmt: skip
LATE = {"eth_account", "eth_abi"}
"""Not before there is a keystore to open."""
NEVER = {"web3", "flask", "sqlalchemy", "redis", "rq", "psycopg", "structlog", "google"}
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


HELPS = """
import json, sys
from service_cli.main import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        sys.stderr.write(json.dumps([words, end.code, sorted(sys.modules)]) + "\\n")
"""


def test_help__of_any_command__imports_nothing_slow(shell: Terminal) -> None:
    """One process for all: what one command imports would be there after it."""
    asked = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]
    command = [sys.executable, "-c", HELPS, json.dumps(asked)]
    done = subprocess.run(command, cwd=shell.home, env=shell.variables(), capture_output=True, timeout=60, check=True)
    seen = [json.loads(line) for line in done.stderr.splitlines()]
    unwanted = [(words, sorted(set(modules) & (SLOW | NEVER))) for words, _, modules in seen]
    assert [(words, code) for words, code, _ in seen] == [(words, 0) for words in asked]
    assert unwanted == [(words, []) for words in asked]


KEY, ADDRESS = "0x" + "11" * 32, "0x" + "ab" * 20
NOWHERE = {
    "SERVICE_HUB_ADDRESS": ADDRESS,
    "SERVICE_RPC_URL": "http://127.0.0.1:9",
    "SERVICE_API_BASE_URL": "http://nowhere.invalid",
    "SERVICE_SUBGRAPH_ENDPOINT": "http://nowhere.invalid/subgraph",
    "SERVICE_CHAIN_ID": "8453",
    **{f"SERVICE_{role}_PRIVATE_KEY": KEY for role in ("POSTER", "SOLVER", "CLAIMANT", "GUARDIAN_ACCOUNT")},
}


def test_plain_key_imports_no_eth_account(guardian: Terminal) -> None:
    code, modules = imported(guardian, "guardian:heartbeat")
    assert (code, modules & (NEVER | LATE)) == (0, set())


RENDERERS = {"service_cli.ui.screen", "rich"}


@pytest.mark.parametrize("words", [["spec-commitment", "page.md"], ["bounty:show", "1"]])
def test_json_run_imports_no_text(shell: Terminal, words: list[str]) -> None:
    (shell.home / "page.md").write_bytes(PAGE)
    _, modules = imported(shell, *words, **NOWHERE)
    assert modules & RENDERERS == set()
