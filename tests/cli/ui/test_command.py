"""The command line: help, usage errors, keys in arguments, how a command ends."""

import os
import re
import secrets
import signal
import subprocess

import pytest
from eth_utils.crypto import keccak
from service_cli.main import COMMANDS

from tests.cli.api_twin import ApiTwin
from tests.cli.kill import CLIENT, spawn
from tests.cli.ledger import Ledger
from tests.cli.servers import Server
from tests.cli.terminal import Ran, Terminal

KEY = secrets.token_hex(32)
ADDRESS = "0x" + "ab" * 20
HASH = "0x" + "cd" * 32


@pytest.mark.spec(188)
def test_help__of_the_whole__names_every_command(shell: Terminal) -> None:
    out = " ".join(shell.run("--help").stdout.split())
    assert all(f"{name} {line}" in out for name, (_, line) in COMMANDS.items())


@pytest.mark.spec(188, 189, 192)
@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_the_same_both_ways_and_fits(shell: Terminal, name: str) -> None:
    first, second = shell.run(name, "--help").stdout, shell.run("help", name, COLUMNS="80").stdout
    assert first.replace("\n", " ").split() == second.replace("\n", " ").split()
    assert all(heading in second for heading in ("Usage: service-cli", "Reads:", "Prints:", "--network"))
    assert max(map(len, second.splitlines())) <= 80
    assert "AN ACCOUNT" not in second


WHERE = "SERVICE_CHAIN_ID SERVICE_HUB_ADDRESS SERVICE_RPC_URL"
DELAY = "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS"


@pytest.mark.spec(189, 211, 212, 214, 216, 217, 219)
@pytest.mark.parametrize(
    ("name", "key", "defaults"),
    [
        ("poster:publish-fund", "POSTER", f"{WHERE} SERVICE_ESCROW_TOKEN_ADDRESS SERVICE_API_BASE_URL"),
        ("poster:open-winning-submission", "POSTER", f"{WHERE} SERVICE_API_BASE_URL"),
        ("solver:submit", "SOLVER", f"{WHERE} SERVICE_API_BASE_URL {DELAY}"),
        ("claim", "CLAIMANT", WHERE),
    ],
)
def test_help_lists_key_and_defaults(shell: Terminal, name: str, key: str, defaults: str) -> None:
    reads, _, rest = shell.run("help", name).stdout.partition("Reads:")[2].partition("Defaults:")
    assert f"SERVICE_{key}_PRIVATE_KEY" in reads
    assert set(defaults.split()) <= set(re.findall(r"\w+", rest.partition("Prints:")[0]))


WRONG = [
    [],
    ["nonsense"],
    ["claim"],
    ["claim", "0"],
    ["claim", "01"],
    ["claim", "-1"],
    ["claim", "1", "2"],
    ["claim", "--claimant-address", "0x12", "1"],
    ["claim", "--network"],
    ["claim", "1", "--network", "nowhere"],
    ["spec-commitment", "-", "--network", "nowhere"],
    ["bounty:list", "--api-base-url", "ftp://x"],
    ["bounty:list", "--api-base-url", "https://api.example/?v1"],
    ["solver:submit", "1"],
    ["solver:submit", "1", "missing-directory"],
    ["solver:submit", "--solver-address", "me", "1", "."],
    ["poster:publish-fund"],
    ["poster:publish-fund", "--poster-address", ADDRESS, "page.md"],
    ["guardian:judgeable"],
    ["guardian:judgeable", "--guardian-address", "nobody"],
    ["guardian:open", "1", ADDRESS],
    ["guardian:verdict", "1", "maybe", "body.md"],
    ["guardian:verdict", "1", "awarded", "body.md"],
    ["guardian:verdict", "1", "awarded", ADDRESS, "0xcd", "body.md"],
    ["guardian:verdict", "1", "no_valid_submission", ADDRESS, HASH, "body.md"],
    ["guardian:deliver-key", "1", HASH, ADDRESS],
    ["verification-record"],
]


@pytest.mark.spec(213, 215, 218, 223, 224, 227, 230, 231, 233, 244)
@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_wrong_argument_is_exit_code_2(shell: Terminal, words: list[str]) -> None:
    wrong = shell.run(*words, code=2)
    assert "Usage: service-cli" in wrong.words
    assert not wrong.stdout


def test_option_without_value_shows_its_commands_usage(shell: Terminal) -> None:
    assert "Usage: service-cli bounty:list" in shell.run("bounty:list", "--status", code=2).words


@pytest.mark.spec(244, 288)
@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"solver:submit", "claim", "bounty:list"}))
def test_wallet_elsewhere_is_no_option(shell: Terminal, name: str) -> None:
    for option in ("--solver-address", "--claimant-address"):
        assert "No such option" in shell.run(name, option, "0x" + "ab" * 20, code=2).words


@pytest.mark.spec(277)
@pytest.mark.parametrize(
    "words",
    [
        ["claim", KEY],
        ["claim", "0x" + KEY],
        ["claim", "--private-key=" + KEY, "1"],
        ["claim", "--claimant-address=0x" + KEY, "1"],
        ["help", KEY],
        ["spec-commitment", KEY],
        ["guardian:open", "1", ADDRESS, "0x" + KEY, HASH],
        ["guardian:verdict", "1", "awarded", "0x" + KEY, "body.md"],
        ["guardian:deliver-key", "0x" + KEY, ADDRESS, "x"],
        ["guardian:open", "1", ADDRESS, "AGE-SECRET-KEY-1" + "Q" * 58],
        ["guardian:open", "1", ADDRESS, "AGE-SECRET-KEY-PQ-1" + "Q" * 58],
        ["poster:publish-fund", "--secret-key", "x"],
    ],
    ids=lambda words: " ".join(words).replace(KEY, "KEY"),
)
def test_key_in_an_argument_is_not_echoed(shell: Terminal, words: list[str]) -> None:
    wrong = shell.run(*words, code=2)
    assert KEY not in wrong.words + wrong.stdout
    assert "Q" * 58 not in wrong.words
    assert not list(shell.home.iterdir())


@pytest.mark.spec(51, 221, 222, 274)
def test_spec_commitment_hashes_the_exact_bytes(shell: Terminal) -> None:
    page = shell.home / "page.md"
    page.write_bytes(b"\xef\xbb\xbfline\r\n\x00\xff")
    first, second = shell.run("spec-commitment", str(page)), shell.run("spec-commitment", "-", stdin=page.read_bytes())
    assert first.events == second.events
    assert first.last == {
        "event": "spec_commitment.derived",
        "spec_commitment": "0x" + keccak(page.read_bytes()).hex(),
        "byte_length": 11,
    }
    assert first.words == ""


NO_RELAY = "http://127.0.0.1:9"
"""So that nothing waits for the beacon of a public network."""


def wanted_chain(ran: Ran) -> str:
    """The chain that a run asks of an endpoint of the local one."""
    (found,) = (event for event in ran.events if event.get("name") == "chain")
    named = re.search(r"\b(84532|8453)\b", str(found["detail"]))
    return "" if named is None else named[1]


@pytest.mark.spec(190, 193)
def test_network__of_one_run__is_not_that_of_the_next(poster: Terminal) -> None:
    values = {name: value for name, value in poster.environment.items() if name != "SERVICE_CHAIN_ID"}
    for words, chain in ((("--network", "staging"), "84532"), ((), "8453")):
        assert (
            wanted_chain(Terminal(poster.home, values).run("doctor", *words, code=1, SERVICE_BEACON_URLS=NO_RELAY))
            == chain
        )


@pytest.mark.spec(197)
def test_api_option_before_the_command_is_told(shell: Terminal) -> None:
    assert "after the command" in shell.run("--api-base-url", "https://a.example", "bounty:list", code=2).words


def test_network_of_another_endpoint_is_refused(solver: Terminal) -> None:
    refused = solver.run("claim", "1", "--network", "mainnet", code=1).last
    assert refused["code"] == "deployment_mismatch"
    assert all(named in str(refused["message"]) for named in ("31337 (local)", "8453 (mainnet)"))


@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("words", ["bounty:list", "spec-commitment missing.md"])
def test_full_stdout_is_one_line(api: ApiTwin, poster: Terminal, words: str, where: str) -> None:
    api.listed = {"items": [{"bounty_id": "1", "facts": {}}], "next_cursor": None}
    done = shelled(poster, f"{CLIENT} {words} {where}")
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)
    assert done.stderr.splitlines()[-1].startswith(b"failed: standard output cannot be written: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_command_can_be_run_again(shell: Terminal, sent: signal.Signals, code: int) -> None:
    process: list[subprocess.Popen[bytes]] = []

    def stop(_request: object) -> tuple[int, bytes, dict[str, str]]:
        os.kill(process[0].pid, sent)
        process[0].wait(timeout=20)
        return 200, b"{}", {}

    with Server(stop) as server:
        values = {"SERVICE_HUB_ADDRESS": ADDRESS, "SERVICE_API_BASE_URL": server.url}
        process.append(spawn(shell, "verification-record", "1", "--network", "mainnet", **values))
        out, words = process[0].communicate(timeout=30)
    assert (process[0].returncode, out) == (code, b"")
    assert words.decode() == "interrupted; run the command again to continue\n"


def shelled(terminal: Terminal, line: str) -> subprocess.CompletedProcess[bytes]:
    """A line of a shell, in a terminal's environment."""
    return subprocess.run(
        ["/bin/bash", "-c", line],
        cwd=terminal.home,
        env=terminal.variables(),
        capture_output=True,
        timeout=30,
        check=False,
    )


def read_one_line(terminal: Terminal, *words: str) -> tuple[int, str]:
    """A command whose reader leaves after the first line: exit code and what is on stderr."""
    with subprocess.Popen(
        [CLIENT, *words], env=terminal.variables(), cwd=terminal.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        os.read(process.stdout.fileno(), 65_536)
        process.stdout.close()
        told = process.stderr.read().decode()
        return process.wait(timeout=60), told


def test_reader_that_leaves_misses_nothing_unnamed(ledger: Ledger, poster: Terminal) -> None:
    (poster.home / "page.md").write_bytes(ledger.page())
    before = ledger.bounty_count()
    code, told = read_one_line(poster, "poster:publish-fund", "--quiet", "page.md")
    assert (code, ledger.bounty_count()) == (1, before + 1)
    (last,) = told.splitlines()
    assert last.startswith("standard output is closed: ")
    assert f"publish_fund.bounty_created (bounty_id {before + 1}, tx_hash 0x" in last


def test_quiet_leaves_refusals(poster: Terminal, ledger: Ledger) -> None:
    page = poster.home / "page.md"
    page.write_bytes(ledger.page())
    assert poster.run("poster:publish-fund", "--quiet", str(page)).words == ""
    assert "refused:" in poster.run("claim", "--quiet", "424242", code=1).words
