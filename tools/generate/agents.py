"""The tools as an agent lists them, so that a change of what a model reads is seen; and docs/agents.md as it is served,
where no other document of the project is beside it.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Final

from bounty_protocol.types import parse_address

from tools.generate.derived import TOP, Derived

_PATH: Final = "tests/agents/tools.json"
_SERVED: Final = "services/api/src/service_api/pages/documents/agents.md"
_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!#|https?:)[^)]+\)")
"""To another document of the project."""
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
    from mcp import Client  # last: pytest, which others run, must not find its plug-ins loaded
    from service_mcp.policy import ROLES
    from service_mcp.server import Options, make_server

    options = Options(_VALUES, roles=frozenset(ROLES), work_dir=TOP / "examples", pages=_NOWHERE)
    async with Client(make_server(options)) as client:
        found = await client.list_tools()
        return [each.model_dump(by_alias=True, exclude_none=True) for each in found.tools]


def _make() -> Mapping[str, bytes]:
    page = (TOP / "docs/agents.md").read_text(encoding="utf-8")
    return {
        _PATH: (json.dumps(asyncio.run(_listed()), indent=1, ensure_ascii=False) + "\n").encode(),
        _SERVED: _LINK.sub(r"`\1`", page).encode(),
    }


AGENTS: Final = Derived("agents", _make)
