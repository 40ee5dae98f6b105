"""Every example of every command's help does what its command is for; one that needs a shell is typed into one."""

import os
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from string import Template

import click
import pytest
from bounty_protocol.types import Address, BountyId
from service_cli.main import COMMANDS, group

from tests.cli import scenes
from tests.cli.api_twin import ApiTwin
from tests.cli.kill import CLIENT
from tests.cli.ledger import Ledger
from tests.cli.scenes import Case, Stage, make_stage
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Ran, Terminal, events_of


def examples_of(name: str) -> list[str]:
    with click.Context(group) as context:
        command = group.get_command(context, name)
    assert command is not None
    _, _, shown = (command.help or "").partition("Examples:")
    return re.findall(r"(service-cli .*)$", shown, re.MULTILINE)


EXAMPLES = [(name, line) for name in COMMANDS for line in examples_of(name)]


@pytest.fixture(scope="module")
def played(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return make_stage(ledger, ApiTwin(ledger), RpcProxy(ledger.node.url), tmp_path_factory.mktemp("played"))


def anyone(stage: Stage) -> Case:
    """Somebody who looks at the awarded bounty."""
    home = stage.home("poster")
    (home.home / "bounty_challenge.md").write_bytes(stage.ledger.page())
    return Case(home, ("", stage.awarded.bounty), "", stage.ledger.people.poster.address)


def writer(stage: Stage) -> Case:
    """A Poster whose page the rules have an issue with."""
    case = anyone(stage)
    page = case.home.home / "bounty_challenge.md"
    page.write_bytes(page.read_bytes().replace(b"It prints 1.", b"It prints TBD."))
    return case


def keeper(stage: Stage) -> Case:
    """A Guardian at a machine without a key file."""
    return replace(scenes.heartbeat(stage), event="")


def judge_anew(stage: Stage) -> Case:
    """A Guardian with the first Submission of a bounty, and its reasons in a file."""
    case = scenes.judge(stage)
    (case.home.home / "why.md").write_text("It holds.\n")
    return case


def funder(stage: Stage) -> Case:
    case = scenes.fund(stage)
    (case.home.home / "page.md").rename(case.home.home / "bounty_challenge.md")
    return case


def author(stage: Stage) -> Case:
    """A Poster with an earlier page."""
    case = scenes.fund(stage)
    return replace(case, event="")


READY: dict[str, Callable[[Stage], Case]] = {
    "poster:new": author,
    "poster:check": writer,
    "poster:publish-fund": funder,
    "poster:open-winning-submission": scenes.receive,
    "solver:submit": scenes.seal,
    "claim": scenes.claim,
    "guardian:open": scenes.open_work,
    "guardian:verdict": judge_anew,
    "guardian:deliver-key": scenes.deliver,
    "guardian:new-key": keeper,
    "guardian:keys": keeper,
    "guardian:heartbeat": scenes.heartbeat,
    "guardian:claim-fee": scenes.claim_fee,
}
"""What a command needs before its example can be typed; the others only look."""

SHELL = set("|<>;&`()*")
UNHEALTHY = {"doctor", "poster:check"}
"""This chain lives in the past, as ``doctor`` reports; a page is checked that is not ready."""


def typed(case: Case, line: str, **values: str) -> Ran:
    """A line as a shell runs it, in this process where it is one command; 7 is the bounty at hand."""
    bounty = case.words[1] if len(case.words) > 1 else ""
    shown = re.sub(r"\b7\b", bounty, line)
    if not set(shown) & SHELL:
        _, *words = (Template(word).substitute(values) for word in shlex.split(shown))
        return case.home.run_any(*words)
    path = f"{Path(CLIENT).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["/bin/sh", "-c", shown], cwd=case.home.home, env={**case.home.variables(**values), "PATH": path},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return Ran(done.returncode, events_of(done.stdout), done.stdout, done.stderr)


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_example_of_help_does_what_it_says(played: Stage, name: str, line: str) -> None:
    case = READY.get(name, anyone)(played)
    if name == "guardian:new-key" and "--rotate" in line:
        case.home.run("guardian:new-key", "guardian-keys.json")
    _, solver, commitment = played.awarded.names
    if name == "guardian:verdict":
        solver = played.ledger.people.solvers[0].address
        commitment = played.api.hub.submission(BountyId(int(case.words[1])), Address(solver))
        line += " --unopened"  # a Submission of this scene has no work that could be opened before
    ran = typed(case, line, ACCOUNT=case.account, SOLVER=solver, COMMITMENT=commitment)
    assert ran.code == (1 if name in UNHEALTHY else 0), (ran.stdout, ran.words)
    whole = {
        "service-cli guardian:open 7": "guardian_open.finished",
        "service-cli claim --all": "claim.total",
    }
    if line in whole:
        assert ran.last["event"] == whole[line]
    elif case.event and "--check" not in line and "--claimant-address" not in line:
        assert ran.last["event"] == case.event


def test_command_with_a_space_is_the_one_with_a_colon(shell: Terminal) -> None:
    assert shell.run("poster", "new", "page.md").names == ["poster_new.written"]
    assert "No such command" in shell.run("poster", "newest", code=2).words
