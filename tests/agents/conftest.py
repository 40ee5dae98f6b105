"""Agents over the SDK's own client, in memory, on the chain and the API's twin of the client's tests."""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from bounty_protocol.types import parse_address
from mcp import Client as McpClient
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult
from service_mcp.policy import Policy
from service_mcp.server import Options, make_server

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import api, impatient, ledger, rpc
from tests.cli.ledger import Ledger
from tests.cli.scenes import Case, Stage, make_stage
from tests.cli.servers import RpcProxy
from tests.servers import database_server

__all__ = ["api", "database_server", "impatient", "ledger", "rpc"]


@pytest.fixture
def stage(ledger: Ledger, api: ApiTwin, rpc: RpcProxy, tmp_path: Path) -> Stage:
    return make_stage(ledger, api, rpc, tmp_path)


class Refused(Exception):
    """A tool error, as a model reads it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        _, mark, rest = text.partition("{")
        self.fields = json.loads(mark + rest) if mark else {}

    @property
    def code(self) -> object:
        return self.fields.get("code")


@dataclass(frozen=True, slots=True)
class Agent:
    """One conversation after the other with a server of these options."""

    options: Options
    mode: str = "auto"
    server: MCPServer | None = None
    """One that goes on between calls; without it each call has one of its own, as after a restart."""

    def started_with(self, **options: Any) -> "Agent":
        """The same person's agent, of a server that was started with these options."""
        return replace(self, options=replace(self.options, **options))

    def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """The structured result of one call."""
        result = asyncio.run(self._call(tool, arguments))
        if result.is_error:
            raise Refused("".join(getattr(each, "text", "") for each in result.content))
        found = result.structured_content
        assert isinstance(found, dict)
        return found

    async def _call(self, tool: str, arguments: Mapping[str, object]) -> CallToolResult:
        async with McpClient(self.server or make_server(self.options), mode=self.mode) as client:
            return await client.call_tool(tool, dict(arguments))

    def tools(self) -> list[dict[str, Any]]:
        """The tool list as it goes over the wire."""

        async def listed() -> list[dict[str, Any]]:
            async with McpClient(self.server or make_server(self.options), mode=self.mode) as client:
                found = await client.list_tools()
                return [each.model_dump(by_alias=True, exclude_none=True) for each in found.tools]

        return asyncio.run(listed())

    def read(self, uri: str) -> str:
        """A resource as text."""

        async def read() -> str:
            async with McpClient(self.server or make_server(self.options), mode=self.mode) as client:
                found = await client.read_resource(uri)
                return "".join(getattr(each, "text", "") for each in found.contents)

        return asyncio.run(read())


@dataclass(frozen=True, slots=True)
class Scene:
    """A case of the client's tests in an agent's hands."""

    case: Case
    agent: Agent

    @property
    def bounty_id(self) -> int:
        return int(self.case.words[1])


def policy_for(stage: Stage, **more: object) -> Policy:
    """One that permits what the tests do; whether the file is somebody else's is tested apart."""
    fields: dict[str, Any] = {
        "chain_id": stage.ledger.node.chain_id,
        "hub_address": parse_address(stage.ledger.contract.address),
        "token_address": parse_address(stage.ledger.token.address),
        "roles": ("poster", "solver", "guardian"),
        "most_spent_per_action": 10**12,
        "most_spent_per_day": 10**12,
        "least_award": 0,
        "most_gas_per_action": 3 * 10**15,
        "most_actions_per_day": 100,
        "allow_secret_files": False,
    }
    return Policy(**{**fields, **more})


MakeScene = Callable[..., Scene]


@pytest.fixture
def scene(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> MakeScene:
    """Make an agent of a case: with a ``policy``, or with none a person has to approve."""

    def make(of: Callable[[Stage], Case], policy: Policy | None = None, **more: Any) -> Scene:
        case = of(stage)
        monkeypatch.setenv("XDG_STATE_HOME", str(case.home.home / "state"))
        fields: dict[str, Any] = {
            "values": dict(case.home.environment),
            "roles": frozenset({"poster", "solver", "guardian"}),
            "work_dir": case.home.home,
            "policy": policy,
            "pages": "https://pages.example",
        }
        return Scene(case, Agent(Options(**{**fields, **more})))

    return make
