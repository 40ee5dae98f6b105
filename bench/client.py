"""The client's figures: whole processes of ``service-cli`` as a person starts them, and the most memory they take.

Starting is measured against ``python -c "import click"`` of the same interpreter, in turn. A networked command's own
overhead is the time from starting the process to its first connection, at a server that answers nothing useful. Its
first signed transaction is timed, and its memory read, against a real node, whose answers count in the time.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from demo.examples import EXAMPLES
from local_stack import anvil

from bench.figures import Figure, Report, median
from bench.watching.memory import resident
from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import LONG_AGO, make_ledger
from tests.cli.plays.acts import ACTS
from tests.cli.plays.play import Play, Run, perform
from tests.cli.plays.wire import Heard
from tests.cli.plays.world import make_world
from tests.cli.servers import Params, RpcProxy
from tests.cli.terminal import Terminal

CLIENT: Final = str(Path(sys.executable).parent / "service-cli")
ROUNDS: Final = 25
ACCOUNT: Final = "0x" + "11" * 20
NETWORKED: Final = (
    ("verification-record", "1"),
    ("bounty:show", "1"),
    ("claim", "1", "--claimant-address", ACCOUNT),
    ("guardian:judgeable", "--guardian-address", ACCOUNT),
    ("poster:open-winning-submission", "1"),
    ("solver:submit", "1", "work"),
)
ACTS_ASKED: Final = (
    "fund",
    "submit",
    "open",
    "award by name",
    "deliver the key",
    "open the winning work",
    "claim the award",
)
"""Of the plays: one act for each of the specified commands that signs or opens."""
REQUESTS_IN_NOVEMBER: Final = {
    "poster:publish-fund": 30,
    "solver:submit": 30,
    "guardian:open": 29,
    "guardian:verdict": 37,
    "guardian:deliver-key": 20,
    "poster:open-winning-submission": 13,
    "claim": 11,
    "guardian:judgeable": 2,
    "verification-record": 1,
}
"""Of 2026, at one RPC endpoint: what the goal is half of."""


def run(report: Report) -> None:
    """Measure the group."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        page = home / "page.md"
        page.write_bytes((EXAMPLES / "bounty_challenge.md").read_bytes())
        _starts(report, home, "client.help", ["--help"])
        _starts(report, home, "client.spec_commitment", ["spec-commitment", str(page)])
        _networked(report, home)
        _on_a_node(report, home)
        _requests(report, home / "plays")


def _starts(report: Report, home: Path, figure: str, arguments: Sequence[str]) -> None:
    """Measure a whole command beside an interpreter that only imports the library of commands."""
    commands = [CLIENT, *arguments], [sys.executable, "-c", "import click"]
    rounds = [[_run(command, home, {})[0] * 1000 for command in commands] for _ in range(ROUNDS)]
    value, reference = (median(each) for each in zip(*rounds, strict=True))
    report(Figure(figure, value, "ms", "ratio <= 1.5", value / reference <= 1.5, "import click alone", reference))


def _networked(report: Report, home: Path) -> None:
    """The slowest command counts."""
    (home / "work").mkdir()
    (home / "work" / "main.py").write_text("print(1)\n")
    slowest = max(median([_first_connection(home, arguments) for _ in range(7)]) for arguments in NETWORKED) * 1000
    libraries = [sys.executable, "-c", "import click, msgspec, urllib3"]
    floor = median([_run(libraries, home, {})[0] for _ in range(7)]) * 1000
    said = f"<= 150, where importing the libraries alone takes {floor:.0f}"
    report(Figure("client.networked", slowest, "ms", said, slowest <= 150))


def _first_connection(home: Path, arguments: Sequence[str]) -> float:
    """Return seconds from starting a command to its first connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        began = time.perf_counter()
        with _started([CLIENT, *arguments], home, _variables(server.getsockname()[1])) as process:
            server.accept()[0].close()
            seconds = time.perf_counter() - began
            process.kill()  # it would ask again for a minute
    return seconds


def _variables(port: int) -> dict[str, str]:
    url, key = f"http://127.0.0.1:{port}", "0x" + "11" * 32
    return {
        "SERVICE_CHAIN_ID": "31337",
        "SERVICE_HUB_ADDRESS": ACCOUNT,
        "SERVICE_ESCROW_TOKEN_ADDRESS": "0x" + "22" * 20,
        "SERVICE_RPC_URL": url,
        "SERVICE_API_BASE_URL": url,
        "SERVICE_SUBGRAPH_ENDPOINT": f"{url}/subgraph",
        "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": "5",
        "SERVICE_BEACON_URLS": url,
        "SERVICE_BEACON_CHAIN_HASH": "0x" + "33" * 32,
        "SERVICE_BEACON_PUBLIC_KEY": "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c"
        "8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5"
        "a6e9c76a4bc09e76eae8991ef5ece45a",
        "SERVICE_POSTER_PRIVATE_KEY": key,
        "SERVICE_SOLVER_PRIVATE_KEY": key,
    }


def _on_a_node(report: Report, home: Path) -> None:
    """Measure commands that read, sign and send, of people with a bounty that is judged, on a real node."""
    with (
        anvil.start(mining="automine", genesis_time=int(time.time()) - LONG_AGO) as node,
        make_ledger(node) as ledger,
        closing(ApiTwin(ledger)) as api,
        closing(RpcProxy(node.url)) as rpc,
    ):
        bounty = str(ledger.awarded(ledger.people.solvers[0].wallet))
        guardian, winner = (person(ledger, api, rpc, home / role, role) for role in ("guardian-1", "solver-1"))
        _first_transaction(report, guardian, rpc)
        runs = (
            (guardian, ["guardian:heartbeat"]),
            (guardian, ["guardian:judgeable", "--guardian-address", ledger.people.guardians[0].address]),
            (winner, ["claim", bounty]),
            (winner, ["bounty:show", bounty]),
        )
        peak = max(_run([CLIENT, *arguments], each.home, each.variables())[1] for each, arguments in runs)
    report(Figure("client.rss", peak, "MB", "<= 120", peak <= 120))


def _first_transaction(report: Report, guardian: Terminal, rpc: RpcProxy) -> None:
    """Seconds from starting a command to the moment its first signed transaction leaves it."""
    sent: list[float] = []

    def note(method: str, _params: Params) -> None:
        if method == "eth_sendRawTransaction":
            sent.append(time.perf_counter())

    rpc.before = note
    began = []
    for _ in range(7):
        began.append(time.perf_counter())
        _run([CLIENT, "guardian:heartbeat"], guardian.home, guardian.variables())
    rpc.honest()
    took = [end - start for start, end in zip(began, sent, strict=True)]
    value = median(took) * 1000
    report(Figure("client.first_transaction", value, "ms", "<= 600, a node's answers included", value <= 600))


def _requests(report: Report, home: Path) -> None:
    """Requests of each of the specified commands to its RPC endpoint and API, and the calls in those to the node."""
    with make_world(home) as world:
        for name in ACTS_ASKED:
            perform(world, Play(ACTS[name], (Run(),), ends_honestly=False))
            _count(report, ACTS[name].words(world)[0], world.wire.heard)
        account = world.account("guardian-1")
        for words in (("guardian:judgeable", "--guardian-address", account), ("verification-record", "1")):
            with world.living():
                world.reset()
                world.api.subgraph = {"roster_members": [{"version": 1}], "bounties": []}
                home_of_guardian = world.home("guardian-1")
                world.wire.heard.clear()
                world.run(home_of_guardian, *words)
            _count(report, words[0], world.wire.heard)


def _count(report: Report, command: str, heard: Sequence[Heard]) -> None:
    to_node = [json.loads(each.request.body) for each in heard if each.server == "node"]
    calls = sum(len(body) if isinstance(body, list) else 1 for body in to_node)
    to_api = sum(each.server == "api" for each in heard)
    goal = REQUESTS_IN_NOVEMBER[command] // 2 or 1
    said = f"<= {goal}; {len(to_node)} of them to the node, with {calls} calls"
    name, value = command.replace(":", "_").replace("-", "_"), len(to_node) + to_api
    report(Figure(f"client.requests.{name}", value, "requests", said, value <= goal))


def _run(command: Sequence[str], home: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """Run one process to its end; return seconds, and its largest resident set in MB.

    The set is read from the process itself while it lives: what ``wait`` reports counts this process before the exec.
    """
    began, peak = time.perf_counter(), 0.0
    process = _started(command, home, environment)
    while process.poll() is None:
        peak = max(peak, resident(pid=process.pid))
        time.sleep(0.001)
    return time.perf_counter() - began, peak


def _started(command: Sequence[str], home: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    variables = {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), **environment}
    return subprocess.Popen(
        command, cwd=home, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
