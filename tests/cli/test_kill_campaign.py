"""kill -9 at every request of every command that changes something, before it is carried out and after, then the same
command again: it ends as it would have, and nothing is sent twice.

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
from tests.cli.kill import spawn
from tests.cli.ledger import Ledger
from tests.cli.scenes import SCENES, Case, Stage, make_stage
from tests.cli.servers import Lost, RpcProxy


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
    for scene in SCENES if FULL else dice.sample(SCENES, 6):
        points = [
            (n, moment) for n in range(1, count_requests(stage, scene(stage)) + 1) for moment in ("before", "after")
        ]
        assert len(points) >= 4
        for number, moment in points if FULL else [dice.choice(points)]:
            play(stage, scene, number, moment)
