"""kill -9 at every request of every command that changes something, then the same command again: everything once.

Six points by default, drawn by SERVICE_CAMPAIGN_SEED; all of them in a campaign.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.campaign import FULL, source
from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.kill import run_killed, spawn
from tests.cli.ledger import Ledger
from tests.cli.scenes import SCENES, Case, Stage, make_stage
from tests.cli.servers import Lost, Reply, Request, RpcProxy
from tests.cli.terminal import Terminal


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


@contextmanager
def watched(stage: Stage, watch: Callable[[str], None]) -> Iterator[None]:
    servers = (stage.api.server, stage.rpc.server)
    for server in servers:
        server.watch = watch
    yield
    for server in servers:
        server.watch = lambda _moment: None


def count_requests(stage: Stage, case: Case) -> int:
    """How many requests the command makes when nobody disturbs it."""
    seen: list[str] = []
    with watched(stage, seen.append), spawn(case.home, *case.words) as process:
        out, words = process.communicate(timeout=60)
    assert process.returncode == 0, (out, words)
    return seen.count("before")


def kill_at(stage: Stage, case: Case, number: int, moment: str) -> bool:
    """Run the command and kill it at its ``number``-th request; whether it came that far."""
    process: list[subprocess.Popen[bytes]] = []
    seen = {"before": 0, "after": 0}

    def strike(now: str) -> None:
        seen[now] += 1
        if now == moment and seen[now] == number and process[0].poll() is None:
            os.kill(process[0].pid, signal.SIGKILL)
            raise Lost

    with watched(stage, strike):
        process.append(spawn(case.home, *case.words))
        process[0].communicate(timeout=60)
    return process[0].returncode == -signal.SIGKILL


def play(stage: Stage, scene: Callable[[Stage], Case], number: int, moment: str) -> None:
    case = scene(stage)
    nonce, where = stage.ledger.nonce(case.account), f"{case.words[0]}, {moment} request {number}"
    if kill_at(stage, case, number, moment):  # it may have ended with fewer requests than the first time
        assert case.home.run(*case.words).last["event"] == case.event, where
    assert stage.ledger.nonce(case.account) - nonce == case.transactions, where
    assert case.check(), where


def test_command__killed_at_any_request__ends_as_it_would_have_and_sends_once(stage: Stage) -> None:
    dice = source("killed commands")
    for scene in SCENES if FULL else dice.sample(SCENES, 3):
        points = [
            (n, moment) for n in range(1, count_requests(stage, scene(stage)) + 1) for moment in ("before", "after")
        ]
        assert len(points) >= 4
        for number, moment in points if FULL else [dice.choice(points)]:
            play(stage, scene, number, moment)


POINTS = [
    ("eth_getTransactionCount", False),
    ("eth_sendRawTransaction", False),
    ("eth_sendRawTransaction", True),
    ("eth_getTransactionReceipt", False),
    ("eth_getTransactionReceipt", True),
]


@pytest.fixture(scope="session")
def judgeable(ledger: Ledger) -> list[int]:
    """Bounties past their reveal point, each for one Verdict of the third Guardian."""
    found = [ledger.fund(seconds=300, judging=20 * 86_400)[0] for _ in POINTS]
    for bounty in found:
        ledger.submit(bounty, ledger.people.solvers[0].wallet)
    ledger.reveal(found[-1])
    return found


@pytest.mark.parametrize(("method", "forward"), POINTS)
def test_verdict__killed_anywhere__is_recorded_once(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, judgeable: list[int], tmp_path: Path, method: str, forward: bool
) -> None:
    home, bounty = person(ledger, api, rpc, tmp_path / "guardian", "guardian-3"), str(judgeable.pop())
    (home.home / "body.md").write_text("None holds.\n")
    words = ("guardian:verdict", bounty, "no_valid_submission", "--unopened", "body.md")
    account = ledger.people.guardians[2].address
    nonce, verdicts = ledger.nonce(account), len(ledger.logs("VerdictRecorded"))
    run_killed(home, rpc, *words, method=method, forward=forward)
    assert home.run(*words).last["event"] == "guardian_verdict.recorded"
    assert (ledger.nonce(account) - nonce, len(ledger.logs("VerdictRecorded")) - verdicts) == (1, 1)


@pytest.mark.parametrize(("method", "forward"), POINTS)
def test_heartbeat__killed_anywhere__is_given_once(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path, method: str, forward: bool
) -> None:
    home, account = person(ledger, api, rpc, tmp_path / "guardian", "guardian-2"), ledger.people.guardians[1].address
    nonce = ledger.nonce(account)
    run_killed(home, rpc, "guardian:heartbeat", method=method, forward=forward)
    assert home.run("guardian:heartbeat").last["event"] == "guardian_heartbeat.recorded"
    assert ledger.nonce(account) - nonce == 1


def test_open__killed_while_downloading__leaves_no_output_and_opens_when_run_again(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path
) -> None:
    bounty, page = ledger.fund(seconds=1_000, judging=20 * 86_400)
    api.keep_page(page)
    solver = person(ledger, api, rpc, tmp_path / "solver", "solver-1")
    (solver.home / "work").mkdir()
    (solver.home / "work" / "main.py").write_text("print(1)\n")
    recorded = solver.run("solver:submit", str(bounty), "work").event("submit.submission_recorded")
    ledger.reveal(bounty)
    guardian = person(ledger, api, rpc, tmp_path / "guardian", "guardian-1")
    words = ("guardian:open", str(bounty), str(recorded["solver"]), str(recorded["submission_commitment"]), "out")
    process: list[subprocess.Popen[bytes]] = []

    def strike(_request: Request) -> Reply:
        os.kill(process[0].pid, signal.SIGKILL)
        raise Lost

    api.scripts["download"] = strike
    process.append(spawn(guardian, *words))
    process[0].communicate(timeout=60)
    assert process[0].returncode == -signal.SIGKILL
    assert not (guardian.home / "out").exists()
    del api.scripts["download"]
    assert guardian.run(*words).last["event"] == "guardian_open.artifact_opened"
    assert (guardian.home / "out" / "main.py").read_text() == "print(1)\n"


def test_claim__two_at_once__one_is_told_that_the_other_is_running(
    ledger: Ledger, solver: Terminal, rpc: RpcProxy
) -> None:
    bounty = ledger.awarded(ledger.people.solvers[0].wallet)
    codes: list[object] = []

    def meanwhile(method: str, _params: list[object]) -> dict[str, object] | None:
        if method == "eth_estimateGas" and not codes:
            codes.append(None)
            with spawn(solver, "claim", str(bounty)) as second:
                out, _ = second.communicate(timeout=60)
            codes[0] = b'"already_running"' in out
        return None

    rpc.before = meanwhile
    with spawn(solver, "claim", str(bounty)) as first:
        out, _ = first.communicate(timeout=60)
    assert (first.returncode, codes, rpc.sent()) == (0, [True], 1)
    assert b'"claim.claimed"' in out
