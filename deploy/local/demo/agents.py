"""``./noxw -s demo -- --agents``: the same bounty, in which Poster, Solver and Guardians act over MCP alone.

Each has a server of its own, started as an assistant starts it, with that person's keys and a policy for the local
network. What happened is compared with the chain, as in the other demo.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bounty_protocol.chain.deployment import LOCAL_CHAIN_ID
from local_stack.stack import Stack
from mcp import Client, StdioServerParameters

from demo.bounty import PAGE_SECONDS, Cast
from demo.examples import artifact, challenge_page, same_files

SERVER: Final = str(Path(sys.executable).parent / "service-mcp")
ESCROW: Final = 25_000_000
AWARD: Final = ESCROW * 96 // 100
ROLES: Final = {"poster": "poster", "solver-1": "solver", "guardian-1": "guardian", "guardian-2": "guardian"}
_POLICY: Final = """# What this agent may sign without asking anybody.
chain_id = {chain_id}
hub_address = "{hub}"
token_address = "{token}"
roles = ["{role}"]
most_spent_per_action = {spends}
most_spent_per_day = {day}
least_award = {least}
most_gas_per_action = 3_000_000_000_000_000
most_actions_per_day = {actions}
"""

_PAID: Final = "AwardClaimed"
Verified = Callable[[str, str, bool], None]
"""Notes a step, how it was verified, and whether it holds."""


@dataclass(frozen=True, slots=True)
class AgentCaps:
    """What the policy of an agent permits; amounts are base units of the escrow token."""

    spends: int = ESCROW
    """The most that one action spends."""
    spends_in_a_day: int = ESCROW
    actions: int = 10
    """The most actions in a day."""
    least_award: int = 1_000_000


class ToolRefused(Exception):
    """A tool error, in the server's words."""


@dataclass(frozen=True, slots=True)
class ServerOfAgent:
    """How an agent's server is started, and the one directory that files leave from."""

    work_dir: Path
    parameters: StdioServerParameters


@dataclass(frozen=True, slots=True)
class AgentAtWork:
    """One agent's conversation with its server."""

    name: str
    work_dir: Path
    client: Client
    echo: Callable[[str], None]

    async def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """Return the structured result; ``ToolRefused`` with the server's words."""
        shown = ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())
        self.echo(f"{self.name}> {tool}({shown})")
        result = await self.client.call_tool(tool, arguments)
        if result.is_error:
            raise ToolRefused(f"{self.name}: {tool}: {''.join(getattr(each, 'text', '') for each in result.content)}")
        found = result.structured_content
        if not isinstance(found, dict):
            raise ToolRefused(f"{self.name}: {tool} returned nothing structured")
        self.echo(f"    {_short(json.dumps(found, ensure_ascii=False), 160)}")
        return found

    async def carry_out(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """Prepare a plan and carry it out."""
        plan = await self.call(tool, **arguments)
        self.echo(f"    plan: {plan['in_words']}")
        return await self.call("carry_out", plan_id=plan["plan_id"])


def play(cast: Cast, verified: Verified, submission_seconds: int, judging_seconds: int, title: str = "") -> None:
    """One bounty by agents, from the page to the opened work."""
    asyncio.run(_play(cast, verified, submission_seconds, judging_seconds, title))


async def _play(cast: Cast, verified: Verified, submission_seconds: int, judging_seconds: int, title: str) -> None:
    async with AsyncExitStack() as stack:
        agents = {name: await _started(stack, cast, name) for name in ROLES}
        poster, solver = agents["poster"], agents["solver-1"]
        guardians = [agents["guardian-1"], agents["guardian-2"]]
        bounty_id = await _fund(cast, verified, poster, submission_seconds, judging_seconds, title)
        directory = await _submit(cast, verified, solver, bounty_id)
        await _judge(cast, verified, guardians, bounty_id, directory)
        before = cast.token_balance(cast.address("solver-1"))
        await solver.carry_out("prepare_claim", bounty_id=bounty_id)
        paid = cast.token_balance(cast.address("solver-1")) - before
        verified("claim", f"the winner received {AWARD}", paid == AWARD)
        await guardians[0].call("deliver_key", bounty_id=bounty_id)
        opened = await poster.call("open_work", bounty_id=bounty_id)
        same = same_files(Path(opened["directory"]), directory)
        verified("open winning work", "the Poster's files are identical to the winner's", same)
        names = await _names(solver, bounty_id)
        verified("watch", "the list of changes has its whole life", names[0] == "BountyCreated" and _PAID in names)


def policy_text(role: str, hub: str, token: str, caps: AgentCaps) -> str:
    """Return the policy of one role's agent on the local network."""
    return _POLICY.format(
        chain_id=LOCAL_CHAIN_ID,
        hub=hub,
        token=token,
        role=role,
        spends=caps.spends,
        day=caps.spends_in_a_day,
        least=caps.least_award,
        actions=caps.actions,
    )


def server_of(stack: Stack, role: str, home: Path, variables: Mapping[str, str], caps: AgentCaps) -> ServerOfAgent:
    """Return how an agent's server is started, with ``variables`` for its environment; work dir and policy are in
    ``home``.
    """
    work_dir, policy = home / "agent", home / "policy.toml"
    work_dir.mkdir(exist_ok=True)
    policy.write_text(policy_text(role, stack.hub.hub.address, stack.hub.token.address, caps))
    arguments = ["--role", role, "--work-dir", str(work_dir), "--policy", str(policy), "--pages", str(stack.pages_url)]
    parameters = StdioServerParameters(command=SERVER, args=arguments, env=dict(variables), cwd=str(home))
    return ServerOfAgent(work_dir, parameters)


async def _started(stack: AsyncExitStack, cast: Cast, name: str) -> AgentAtWork:
    person = cast.person(name)
    server = server_of(cast.stack, ROLES[name], person.home, person.variables(), AgentCaps())
    client = await stack.enter_async_context(Client(server.parameters))
    return AgentAtWork(name, server.work_dir, client, cast.echo)


async def _fund(
    cast: Cast, verified: Verified, poster: AgentAtWork, submission_seconds: int, judging_seconds: int, title: str
) -> int:
    deadline = cast.chain_time() + submission_seconds
    page = challenge_page(
        poster.work_dir, submission_deadline=deadline, judging_window_seconds=judging_seconds, title=title
    )
    review = await poster.call("check_page", path=page.name)
    verified("check", "the rules find nothing wrong with the page", review["issues"] == [])
    before = cast.token_balance(cast.address("poster"))
    funded = await poster.carry_out("prepare_funding", path=page.name)
    moved = before - cast.token_balance(cast.address("poster"))
    verified("fund", f"the escrow of {ESCROW} left the Poster's account", moved == ESCROW)
    return int(funded["bounty_id"])


async def _submit(cast: Cast, verified: Verified, solver: AgentAtWork, bounty_id: int) -> Path:
    found = await _until(
        lambda: solver.call("find_bounties", limit=50),
        lambda answer: bounty_id in {each["bounty_id"] for each in answer["bounties"]},
    )
    verified("find", "the Solver's agent finds the bounty in the list", bool(found))
    evaluation = await solver.call("evaluate_bounty", bounty_id=bounty_id)
    verified("evaluate", "the award is that of the terms", evaluation["award"]["base_units"] == str(AWARD))
    directory = artifact(solver.work_dir / f"work-{bounty_id}", note="By an agent.")
    path = str(directory.relative_to(solver.work_dir))
    await solver.carry_out("prepare_submission", bounty_id=bounty_id, path=path)
    recorded = cast.stack.hub.hub.call("getSubmission", bounty_id, cast.address("solver-1"))
    verified("submit", "the Submission is on chain", any(recorded))
    return directory


async def _judge(cast: Cast, verified: Verified, guardians: list[AgentAtWork], bounty_id: int, directory: Path) -> None:
    reveal_at = int(cast.stack.hub.hub.call("getBounty", bounty_id)[4])
    while cast.chain_time() < reveal_at:
        cast.stack.runtime.family.checkpoint()
        await asyncio.sleep(0.2)
    for guardian in guardians:
        opened = await _until(partial(guardian.call, "open_work", bounty_id=bounty_id), bool)
        work = _only_one_below(opened["directory"])
        same = same_files(work, directory)
        verified("open", f"{guardian.name} has files identical to the submitted ones", same)
        reasons = f"Meets every criterion; bench.py printed 3.4. Checked by {guardian.name}.\n"
        await guardian.carry_out("prepare_verdict", bounty_id=bounty_id, reasons=reasons, submission=work.name)
    view = cast.stack.hub.hub.call("getBounty", bounty_id)
    verified(
        "judge", "two of three Verdicts made the award final", (view[13], view[15]) == (1, cast.address("solver-1"))
    )


async def _names(agent: AgentAtWork, bounty_id: int) -> list[str]:
    """Return the events of a bounty, in order, once its award is indexed."""

    async def read() -> dict[str, Any]:
        found, after = [], 0
        while True:
            changes = await agent.call("watch", after=after, limit=100)
            found += [each["name"] for each in changes["changes"] if each["bounty_id"] == bounty_id]
            after = changes["next_after"]
            if not changes["has_more"]:
                return {"names": found}

    return list((await _until(read, lambda answer: _PAID in answer["names"]))["names"])


def _only_one_below(directory: str) -> Path:
    (found,) = Path(directory).iterdir()
    return found


async def _until(
    ask: Callable[[], Awaitable[dict[str, Any]]], holds: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """Ask until it holds: the index follows the chain by a block, a beacon its round by a second."""
    ends = time.monotonic() + PAGE_SECONDS
    while True:
        try:
            if holds(answer := await ask()):
                return answer
        except ToolRefused:
            if time.monotonic() > ends:
                raise
        if time.monotonic() > ends:
            raise ToolRefused("it did not come to pass in time")
        await asyncio.sleep(0.5)


def _short(value: object, letters: int = 60) -> str:
    text = str(value)
    return text if len(text) <= letters else f"{text[:letters]}…"
