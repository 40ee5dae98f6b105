"""The programs of ``examples/python``, each run as it is, against the chain and the API's twin."""

import base64
import json
import re
import runpy
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from bounty_protocol.shapes import to_json
from bounty_protocol.types import BlockNumber, BountyId, Bytes32
from bounty_protocol.wire.bounties import Block, BountyItem
from bounty_protocol.wire.values import Finality
from standardwebhooks import Webhook

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import ESCROW, Ledger
from tests.cli.scenes import Case, Stage, claim, claim_all, fund, make_stage, seal
from tests.cli.servers import Reply, Request, RpcProxy, Server
from tests.cli.submitted import load, submit
from tests.cli.terminal import Terminal
from tests.vectors.samples import FACTS

EXAMPLES = Path(__file__).parents[2] / "examples/python"
PAGE = (Path(__file__).parents[2] / "docs/python.md").read_text(encoding="utf-8")
TRIED = {
    "find_bounties", "read_reasons", "follow_bounty", "my_status", "check_page", "fund_bounty",
    "submit_work", "judge_bounty", "claim_everything", "send_on",
}  # fmt: skip

Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one example as a person; what it printed."""

    def run_one(name: str, home: Terminal, *arguments: str, code: int = 0) -> str:
        for variable, value in home.variables().items():
            if not variable.startswith("SERVICE_"):
                monkeypatch.setenv(variable, value)
        monkeypatch.chdir(home.home)
        Path("deployment.json").write_text(json.dumps(dict(home.environment)))
        monkeypatch.setattr(sys, "argv", [name, "deployment.json", *arguments])
        try:
            runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        except SystemExit as ended:
            assert ended.code == code, ended.code
        else:
            assert code == 0
        return capsys.readouterr().out

    return run_one


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


def run_case(run: Run, name: str, case: Case, *arguments: str) -> str:
    return run(name, case.home, *arguments)


def test_find_prints_what_the_winner_gets(run: Run, stage: Stage) -> None:
    item = BountyItem(
        BountyId(7), FACTS, 0, Finality.FINALIZED, Block(BlockNumber(1), Bytes32("0x" + "11" * 32)), "A parser"
    )
    stage.api.listed = {"items": [to_json(item)], "next_cursor": None}
    out = run("find_bounties", stage.home("poster"), "parser")
    assert re.fullmatch(r"7 [\d.]+ \w+ \d+ 'A parser'\n", out), out
    (query,) = (request.query for request in stage.api.server.requests if request.path == "/api/bounties")
    assert query == "accepting=true&search=parser&sort=award&limit=50"


def test_awarded_bounty_has_reasons_and_status(run: Run, stage: Stage) -> None:
    case = claim(stage)
    assert run_case(run, "read_reasons", case, case.words[1]).count("awarded") == 2
    out = run_case(run, "follow_bounty", case, case.words[1])
    assert ("bounty_watch.event" in out, out.splitlines()[-1].split()[0]) == (True, "awarded")
    stage.api.listed = {"items": [{"bounty_id": case.words[1]}], "next_cursor": None}
    assert f"{case.words[1]} claim None service-cli claim {case.words[1]}" in run_case(run, "my_status", case)


def test_page__is_checked_and_funded_once(run: Run, stage: Stage) -> None:
    case = fund(stage)
    assert run("check_page", case.home, "page.md") == ""
    (case.home.home / "bad.md").write_text("no page\n")
    assert "bad.md:1: document: " in run("check_page", case.home, "bad.md", code=1)
    first = run_case(run, "fund_bounty", case, "page.md")
    assert f"{ESCROW} base units in escrow" in first
    assert run_case(run, "fund_bounty", case, "page.md").splitlines()[-1] == first.splitlines()[-1]


def test_work__is_submitted_opened_judged_and_paid(run: Run, stage: Stage, tmp_path: Path) -> None:
    solver = seal(stage)
    out = run_case(run, "submit_work", solver, solver.words[1], "work")
    assert stage.ledger.submission(int(solver.words[1]), solver.account) in out
    judged, guardian = submit(stage.ledger, tmp_path / "judged"), stage.home("guardian-3")
    load(stage.api, judged)
    (guardian.home / "reasons.md").write_text("None holds: the tests fail.\n")
    out = run("judge_bounty", guardian, judged.bounty, "opened", "reasons.md")
    assert (out.startswith("1 opened, 0 before, 0 cannot be\n"), "recorded in block" in out) == (True, True)
    assert "2 amounts," in run_case(run, "claim_everything", claim_all(stage))


def test_events_are_sent_on_until_taken(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "whsec_" + base64.b64encode(b"k" * 32).decode()
    lines = [json.dumps({"event": "bounty_watch.change", "block_hash": f"0x{n}", "log_index": n}) for n in (1, 2)]
    taken, statuses = list[object](), iter([503, 200, 200])

    def receive(request: Request) -> Reply:
        status, found = next(statuses), Webhook(secret).verify(request.body, request.headers)
        taken.extend([found] if status == 200 else [])
        return status, b"", {}

    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    monkeypatch.setattr("sys.stdin", StringIO("\n".join(lines) + "\n"))
    monkeypatch.setattr("time.sleep", lambda _: None)
    with Server(receive) as server:
        monkeypatch.setattr(sys, "argv", ["send_on", f"{server.url}/"])
        runpy.run_path(str(EXAMPLES / "send_on.py"), run_name="__main__")
    assert taken == [json.loads(line) for line in lines]
    assert "not taken: HTTP Error 503" in capsys.readouterr().err


def test_examples__are_all_tried_and_named_on_the_page() -> None:
    files = {path.stem for path in EXAMPLES.glob("*.py")}
    assert files == TRIED
    assert all(f"examples/python/{name}.py" in PAGE for name in files)
