"""The wheel of the server for agents, built offline from its sdist, installed alone and beside the client's, and used
away from the repository."""

import asyncio
import os
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

import pytest
from mcp import Client as McpClient
from mcp import StdioServerParameters
from service_mcp.server import READING

from tests.cli.test_wheel import build, lend, needed, wheel
from tests.unpacking import unpack

__all__ = ["wheel"]

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def agents_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist-of-agents")
    build(TOP / "clients/mcp", "sdist", folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        unpack(archive, folder / "unpacked")
    (source,) = (folder / "unpacked").iterdir()
    build(source, "wheel", folder)
    return next(folder.glob("*.whl"))


def uv() -> str:
    found = shutil.which("uv", path=f"{TOP / '.noxw' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert found is not None, "uv comes with noxw"
    return found


def environment(folder: Path, wheels: list[Path]) -> Path:
    """A clean environment with these wheels; its interpreter."""
    offline = {**os.environ, "UV_OFFLINE": "1", "UV_NO_CONFIG": "1"}
    python = folder / "venv/bin/python"
    for command in (
        [uv(), "venv", "--quiet", "--python", sys.executable, str(folder / "venv")],
        [uv(), "pip", "install", "--quiet", "--no-deps", "--python", str(python), *map(str, wheels)],
    ):
        subprocess.run(command, check=True, capture_output=True, timeout=60, env=offline)
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    for name in needed(metadata.requires("service-mcp") or []):
        lend(name, site)
    return python


def test_installed_wheel_answers_an_agent(agents_wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path, [agents_wheel])
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
