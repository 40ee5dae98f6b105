"""The agents of ``./noxw -s market``: a server over stdio, asked by several threads, and a transcript of all of it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from demo.agents import SERVER, ServerOfAgent, ToolRefused, policy_text
from local_stack.interrupts import Interrupted
from mcp import StdioServerParameters

from tests.cli.scenes import Case, Stage, seal
from tools.market.agents import CAPS, MarketAgent, agent_of


@pytest.fixture
def case(stage: Stage) -> Case:
    return seal(stage)


@pytest.fixture
def server(stage: Stage, case: Case, tmp_path: Path) -> ServerOfAgent:
    policy, home = tmp_path / "policy.toml", case.home.home
    policy.write_text(policy_text("solver", stage.ledger.contract.address, stage.ledger.token.address, CAPS))
    arguments = ["--role", "solver", "--work-dir", str(home), "--policy", str(policy), "--pages", "https://p.example"]
    values = {**case.home.variables(), "HOME": str(tmp_path)}
    return ServerOfAgent(home, StdioServerParameters(command=SERVER, args=arguments, env=values, cwd=str(home)))


@pytest.fixture
def agent(server: ServerOfAgent, tmp_path: Path) -> Iterator[MarketAgent]:
    with ExitStack() as until:
        yield agent_of("solver-5", server, tmp_path, until)


def noted(agent: MarketAgent) -> list[tuple[str, str]]:
    """The tools that were called, each with the type of its answer."""
    lines = [json.loads(line) for line in agent.transcript.read_text().splitlines()]
    return [(line["tool"], type(line["answer"]).__name__) for line in lines]


def test_agent__that_carries_out__has_the_act_on_the_chain_and_every_call_in_its_transcript(
    stage: Stage, case: Case, agent: MarketAgent
) -> None:
    bounty = int(case.words[1])
    done = agent.carry_out("prepare_submission", bounty_id=bounty, path="work")
    assert done["bounty_id"] == bounty
    assert int(stage.ledger.submission(bounty, case.account), 16) != 0
    assert noted(agent) == [("prepare_submission", "dict"), ("carry_out", "dict")]


def test_agent__that_is_refused__has_the_words_and_goes_on(case: Case, agent: MarketAgent) -> None:
    with pytest.raises(ToolRefused, match="outside_work_dir"):
        agent.carry_out("prepare_submission", bounty_id=int(case.words[1]), path="../..")
    agent.call("get_bounty", bounty_id=int(case.words[1]))
    assert noted(agent) == [("prepare_submission", "str"), ("get_bounty", "dict")]


def test_agent__that_several_ask_at_once__answers_each_of_them(case: Case, agent: MarketAgent) -> None:
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(agent.call, "get_bounty", bounty_id=int(case.words[1])) for _ in range(4)]
        assert {each.result()["bounty_id"] for each in asked} == {int(case.words[1])}
    assert len(noted(agent)) == 4


def test_agent__of_a_run_that_is_interrupted__ends_with_what_ended_it(server: ServerOfAgent, tmp_path: Path) -> None:
    def interrupted() -> None:
        with ExitStack() as until:
            agent_of("solver-5", server, tmp_path, until)
            raise Interrupted

    with pytest.raises(Interrupted):
        interrupted()
