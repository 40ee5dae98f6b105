"""The wheel of the server for agents, built offline from its sdist, installed alone and beside the client's, and used
away from the repository."""

import asyncio
import subprocess
from pathlib import Path

from mcp import Client as McpClient
from mcp import StdioServerParameters
from service_mcp.server import READING

from tests.cli.test_wheel import environment, wheel_of

TOP = Path(__file__).parents[2]


def test_installed_wheel_answers_an_agent(tmp_path: Path) -> None:
    python = environment(tmp_path, wheel_of(TOP / "clients/mcp", tmp_path / "dist"), "service-mcp")
    program = (
        "import pkgutil, importlib, service_mcp, sys\n"
        "for found in pkgutil.walk_packages(service_mcp.__path__, 'service_mcp.'):\n"
        "    importlib.import_module(found.name)\n"
        "assert not {'bounty_protocol', 'service_cli'} & set(sys.modules)\n"
    )
    done = subprocess.run([str(python), "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

    async def names() -> set[str]:
        variables = {"HOME": str(tmp_path), "SERVICE_CHAIN_ID": "staging"}
        server = StdioServerParameters(command=str(python.parent / "service-mcp"), env=variables, cwd=str(tmp_path))
        async with McpClient(server) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert asyncio.run(names()) == set(READING)
