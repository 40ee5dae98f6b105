"""``solver:submit --put-back``: exactly the recorded bytes, from any machine, and nothing else."""

import shutil
from pathlib import Path

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.conftest import person
from tests.cli.ledger import Ledger
from tests.cli.servers import RpcProxy
from tests.cli.submitted import Submitted, load, submit
from tests.cli.terminal import Terminal


@pytest.fixture(scope="module")
def recorded(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> tuple[Submitted, Path]:
    """A Submission past its reveal point, and the folder of its sealed bytes."""
    home = tmp_path_factory.mktemp("solver")
    found = submit(ledger, home)
    (sealed,) = (home / "state").rglob("ciphertext.age")
    return found, sealed.parent


@pytest.fixture
def machine(api: ApiTwin, ledger: Ledger, rpc: RpcProxy, recorded: tuple[Submitted, Path], tmp_path: Path) -> Terminal:
    """Another machine of the same Solver, with a copy of the sealed bytes; the storage has lost them."""
    load(api, recorded[0])
    api.objects.clear()
    home = person(ledger, api, rpc, tmp_path / "other", "solver-1")
    kept = home.home / "kept" / "submissions" / "1-copy"
    kept.mkdir(parents=True)
    for name in ("envelope.json", "ciphertext.age"):
        shutil.copy(recorded[1] / name, kept)
    return home


@pytest.mark.parametrize("directory", ["kept", "kept/submissions/1-copy"])
def test_lost_bytes__are_put_back_from_another_machine(
    api: ApiTwin, machine: Terminal, recorded: tuple[Submitted, Path], directory: str
) -> None:
    ran = machine.run("solver:submit", "--put-back", recorded[0].bounty, directory)
    assert ran.names == ["submit.ciphertext_uploaded"]
    assert api.objects == recorded[0].objects
    again = machine.run("solver:submit", "--put-back", recorded[0].bounty, directory)
    assert (again.names, "holds the sealed bytes already" in again.words) == ([], True)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "code"), [("ciphertext.age", "storage_mismatch"), ("envelope.json", "envelope_mismatch")]
)
def test_other_bytes__are_refused_before_anything_is_signed(
    api: ApiTwin, machine: Terminal, recorded: tuple[Submitted, Path], name: str, code: str
) -> None:
    path = machine.home / "kept" / "submissions" / "1-copy" / name
    content = path.read_bytes()
    for other in (content[:-1], content + b" ", content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(other)
        assert machine.run("solver:submit", "--put-back", recorded[0].bounty, "kept", code=1).last["code"] == code
    path.unlink()
    assert machine.run("solver:submit", "--put-back", recorded[0].bounty, "kept", code=1).last["code"] in {
        code,
        "file_unreadable",
    }
    assert (api.approvals(), api.objects) == ([], {})


@pytest.mark.attack
def test_account__that_submitted_nothing__is_refused(
    api: ApiTwin, ledger: Ledger, rpc: RpcProxy, machine: Terminal, recorded: tuple[Submitted, Path], tmp_path: Path
) -> None:
    stranger = person(ledger, api, rpc, tmp_path / "stranger", "solver-2")
    ran = stranger.run("solver:submit", "--put-back", recorded[0].bounty, str(machine.home / "kept"), code=1)
    assert (ran.last["code"], api.approvals()) == ("submission_not_recorded", [])


def test_put_back__beside_an_option_that_sends_nothing_or_needs_no_service__is_refused(machine: Terminal) -> None:
    for option in ("--check", "--without-api"):
        machine.run("solver:submit", "--put-back", option, "7", "kept", code=2)
