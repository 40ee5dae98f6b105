"""Agents: each speaks to a server for agents of its own over stdio, as an assistant does, for the whole run.

Its server signs by a policy. What is asked and answered is kept in the stack's logs, where the market looks for
everybody's keys and for what was sealed.
"""

import json
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from anyio.from_thread import BlockingPortal, start_blocking_portal
from demo.agents import AgentAtWork, AgentCaps, ServerOfAgent, ToolRefused
from mcp import Client, MCPError
from mcp.client.stdio import stdio_client

_SECONDS: Final = 120.0
"""How long one call is waited for."""
CAPS: Final = AgentCaps(spends=10**9, spends_in_a_day=10**12, actions=100_000, least_award=1)
"""More than a run spends."""


@dataclass(frozen=True, slots=True)
class MarketAgent:
    """One agent. Any number of threads may call at once, as an assistant does that has several tasks."""

    speaking: AgentAtWork
    transcript: Path
    portal: BlockingPortal = field(repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def work_dir(self) -> Path:
        """The one directory that files leave from; opened work is put below it."""
        return self.speaking.work_dir

    def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """The structured result; ``ToolRefused`` with the server's words."""
        try:
            found: dict[str, Any] = self.portal.call(lambda: self.speaking.call(tool, **arguments))
        except (ToolRefused, MCPError) as refused:
            self._note(tool, arguments, str(refused))
            raise
        self._note(tool, arguments, found)
        return found

    def carry_out(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """Prepare a plan, and carry it out by the policy."""
        done = self.call("carry_out", plan_id=self.call(tool, **arguments)["plan_id"])
        if done["state"] not in {"recorded", "finalized"}:
            raise ToolRefused(f"{self.speaking.name}: {tool}: {done['state']}: {done['detail']}")
        return done

    def _note(self, tool: str, arguments: Mapping[str, object], answer: object) -> None:
        line = json.dumps({"tool": tool, "arguments": dict(arguments), "answer": answer}, ensure_ascii=False)
        with self.lock, self.transcript.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


def agent_of(name: str, server: ServerOfAgent, logs: Path, until: ExitStack) -> MarketAgent:
    """An agent with its server at work until ``until`` is closed; what is said on stderr is in ``logs``, too."""
    said = until.enter_context((logs / f"agent-{name}.log").open("a", encoding="utf-8"))
    portal = until.enter_context(start_blocking_portal())
    opened = Client(stdio_client(server.parameters, errlog=said), read_timeout_seconds=_SECONDS)
    conversation = portal.wrap_async_context_manager(opened)
    client = conversation.__enter__()
    until.callback(conversation.__exit__, None, None, None)  # what ends a run would come back as a group of errors
    speaking = AgentAtWork(name, server.work_dir, client, lambda _: None)
    return MarketAgent(speaking, logs / f"agent-{name}.jsonl", portal)
