"""The programs of examples/typescript against a running server and a real chain: funded, submitted, opened."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from beacon.server import BeaconServer
from bounty_protocol.clock import SystemClock
from bounty_protocol.types import UnixSeconds
from demo.examples import EXAMPLES
from local_stack.contract import Wallet
from local_stack.ports import HOST

from tests.api.conftest import Service
from tests.api.pages import page_for
from tests.api.running import RunningApi, start_api
from tests.clients.package import programs, run_node, write_settings
from tests.serving import serving

pytestmark = pytest.mark.nightly


class _AfterEveryRound(SystemClock):
    def now(self) -> UnixSeconds:
        return UnixSeconds(2**40)


@pytest.fixture(scope="module")
def relay(service: Service) -> Iterator[str]:
    """A relay of the deployment's beacon, whose rounds are all out."""
    server = BeaconServer((HOST, 0), service.beacon.chain, _AfterEveryRound())
    with serving(server):
        yield server.url


@pytest.fixture(scope="module")
def folder(service: Service, relay: str) -> Path:
    """The compiled programs, their settings those of this deployment."""
    port = service.runtime.port()
    api = start_api(service.runtime, {**service.variables, "SERVICE_PUBLIC_HOST": f"{HOST}:{port}"}, port=port)
    name_deployment(programs(), service, api, relay)
    return programs()


def name_deployment(folder: Path, service: Service, api: RunningApi, relay: str) -> None:
    """Settings of this deployment, and a clock that is right on its chain."""
    path = write_settings(
        folder,
        api_url=f"http://{HOST}:{api.port}",
        rpc_url=service.world.node.url,
        relay=relay,
        chain_id=service.world.chain_id,
        hub_address=service.world.hub_address,
        info=service.beacon.chain.info,
    )
    with path.open("a", encoding="utf-8") as file:
        file.write(f"Date.now = () => {service.world.time() * 1_000};\n")


def test_examples_fund_submit_and_open(service: Service, folder: Path, tmp_path: Path) -> None:
    world, poster, solver = service.world, service.world.people.poster.wallet, service.world.solver(2)
    (page := tmp_path / "page.md").write_bytes(page_for(world, deadline=world.time() + 100_000))
    bounty_id = run(folder, "fund.js", page, SERVICE_POSTER_PRIVATE_KEY=poster.private_key)
    poster.forget_nonce()  # the program has used it
    world.finalize()
    assert service.get(f"/api/bounties/{bounty_id}").get_json()["challenge_terms"]["matches"]
    with pytest.raises(AssertionError, match=f"bounty {bounty_id} is on this page already"):
        run(folder, "fund.js", page, SERVICE_POSTER_PRIVATE_KEY=poster.private_key)
    files = [EXAMPLES / "artifact" / name for name in ("NOTES.md", "bench.py")]
    arguments = {"SERVICE_SOLVER_PRIVATE_KEY": solver.private_key, "TMPDIR": str(tmp_path)}
    commitment = run(folder, "submit.js", bounty_id, *files, **arguments)
    solver.forget_nonce()
    assert "0x" + world.contract.call("getSubmission", int(bounty_id), solver.address).hex() == commitment
    world.finalize()

    opened = tmp_path / "opened"
    output = open_as_guardian(service, folder, bounty_id, solver, commitment, opened)

    assert output == f"{len(files)} files"
    assert {path.name: path.read_bytes() for path in opened.iterdir()} == {
        each.name: each.read_bytes() for each in files
    }
    with pytest.raises(AssertionError, match="opened exists already"):
        open_as_guardian(service, folder, bounty_id, solver, "0x" + "11" * 32, opened)
    with pytest.raises(AssertionError, match="does not record this Submission"):
        open_as_guardian(service, folder, bounty_id, solver, "0x" + "11" * 32, tmp_path / "other")


def open_as_guardian(
    service: Service, folder: Path, bounty_id: str, solver: Wallet, commitment: str, directory: Path
) -> str:
    guardian = service.world.people.guardians[1]
    assert guardian.identity is not None
    return run(
        folder,
        *("open.js", bounty_id, solver.address, commitment, directory),
        SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY=guardian.wallet.private_key,
        SERVICE_GUARDIAN_PRIVATE_KEYS_JSON=json.dumps([guardian.identity.to_text()]),
    )


def run(folder: Path, program: str, *arguments: object, **variables: str) -> str:
    return run_node(folder / program, *arguments, variables=variables).strip()
