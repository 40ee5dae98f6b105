"""Another implementation: the example with ethers makes the vectors' headers and is let in by the running server."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from local_stack.ports import HOST as ADDRESS
from local_stack.toolbox import ensure_npm_package, find_npm

from tests.api.conftest import Service
from tests.api.running import RunningApi, start_api

TOP = Path(__file__).parents[2]
EXAMPLE = TOP / "examples/javascript/signed_request.mjs"


@pytest.fixture(scope="module")
def node_program() -> str:
    ensure_npm_package(EXAMPLE.parent)
    npm = find_npm()
    return npm[0] if len(npm) > 1 else shutil.which("node") or "node"


def run(program: str, *arguments: object, **variables: str) -> str:
    done = subprocess.run(
        [program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_javascript_example_makes_every_vector(node_program: str) -> None:
    script = Path(__file__).parent / "ethers_vectors.mjs"
    assert run(node_program, script, EXAMPLE.as_uri(), TOP / "tests/vectors") == "done 4"


def test_example__against_a_running_server__is_let_in(service: Service, node_program: str, tmp_path: Path) -> None:
    world, solver = service.world, service.world.solver(2)
    bounty_id = world.fund(seconds=100_000)
    world.finalize()
    world.node.mine(31)
    api = _at_its_own_host(service)
    body = tmp_path / "body.json"
    body.write_text('{"ciphertext_sha256": "0x' + "11" * 32 + '", "ciphertext_byte_length": 5}')
    path = f"/api/bounties/{bounty_id}/submissions/{solver.address}/artifact-upload-url"
    answer = run(
        node_program,
        *(EXAMPLE, "POST", f"http://{ADDRESS}:{api.port}{path}", "application/json", body),
        RPC_URL=world.node.url,
        HUB_ADDRESS=world.hub_address,
        PRIVATE_KEY=solver.private_key,
    )
    assert answer.startswith("200 "), answer
    assert "upload_url" in answer


def _at_its_own_host(service: Service) -> RunningApi:
    """A server whose public host is the address it listens on, as the signature names it."""
    port = service.runtime.port()
    return start_api(service.runtime, {**service.variables, "SERVICE_PUBLIC_HOST": f"{ADDRESS}:{port}"}, port=port)
