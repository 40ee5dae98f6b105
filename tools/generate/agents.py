"""tests/agents/tools.json: the tools as an agent lists them, so that a change of what a model reads is seen."""

import asyncio
import json
from collections.abc import Mapping
from typing import Final

from bounty_protocol.types import parse_address
from mcp import Client
from service_mcp.policy import ROLES
from service_mcp.server import Options, make_server

from tools.generate.derived import TOP, Derived

_PATH: Final = "tests/agents/tools.json"
_NOWHERE: Final = "http://127.0.0.1:1"
_VALUES: Final = {
    "SERVICE_CHAIN_ID": "local",
    "SERVICE_HUB_ADDRESS": parse_address("0x" + "11" * 20),
    "SERVICE_ESCROW_TOKEN_ADDRESS": parse_address("0x" + "22" * 20),
    "SERVICE_RPC_URL": _NOWHERE,
    "SERVICE_API_BASE_URL": _NOWHERE,
    "SERVICE_SUBGRAPH_ENDPOINT": _NOWHERE,
    "SERVICE_TIMELOCK_REVEAL_DELAY_SECONDS": "3",
}


async def _listed() -> object:
    options = Options(_VALUES, roles=frozenset(ROLES), work_dir=TOP / "examples", pages=_NOWHERE)
    async with Client(make_server(options)) as client:
        found = await client.list_tools()
        return [each.model_dump(by_alias=True, exclude_none=True) for each in found.tools]


def _make() -> Mapping[str, bytes]:
    return {_PATH: (json.dumps(asyncio.run(_listed()), indent=1, ensure_ascii=False) + "\n").encode()}


AGENTS: Final = Derived("agents", _PATH, _make)
