"""``solver:submit --put-back``: exactly the recorded bytes, from any machine, and nothing else."""

import io
import resource
import shutil
import tarfile
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


def saved(machine: Terminal, **more: bytes) -> Path:
    """The file that a bounty's page saves of the kept copy; with other entries before those."""
    path = machine.home / "submission.tar"
    with tarfile.open(path, "w") as archive:
        for name, content in more.items():
            (member := tarfile.TarInfo(name)).size = len(content)
            archive.addfile(member, io.BytesIO(content))
        archive.add(machine.home / "kept" / "submissions" / "1-copy", "submission-7-abcdef12")
    return path


def test_lost_bytes__are_put_back_from_the_file_that_a_page_saved(
    api: ApiTwin, machine: Terminal, recorded: tuple[Submitted, Path]
) -> None:
    path = saved(machine, notes=b"mine")
    ran = machine.run("solver:submit", "--put-back", recorded[0].bounty, path.name)
    assert ran.names == ["submit.ciphertext_uploaded"]
    assert api.objects == recorded[0].objects


def test_file__with_several_submissions__has_the_recorded_one_put_back(
    api: ApiTwin, machine: Terminal, recorded: tuple[Submitted, Path]
) -> None:
    other = machine.home / "kept" / "submissions" / "2-other"
    shutil.copytree(machine.home / "kept" / "submissions" / "1-copy", other)
    for path in other.iterdir():
        path.write_bytes(b"of another one")
    with tarfile.open(machine.home / "kept.tar", "w") as archive:
        archive.add(machine.home / "kept", "kept")
    ran = machine.run("solver:submit", "--put-back", recorded[0].bounty, "kept.tar")
    assert ran.names == ["submit.ciphertext_uploaded"]
    assert api.objects == recorded[0].objects


def test_file__that_there_is_no_room_to_unpack__is_not_called_a_bad_one(
    machine: Terminal, recorded: tuple[Submitted, Path]
) -> None:
    path, before = saved(machine), resource.getrlimit(resource.RLIMIT_FSIZE)
    most = (recorded[1] / "ciphertext.age").stat().st_size - 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))  # of a file that is written, here and in what starts
    try:
        ran = machine.run("solver:submit", "--put-back", recorded[0].bounty, path.name, code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (ran.last["code"], "TMPDIR" in str(ran.last["next_action"])) == ("file_unwritable", True)


@pytest.mark.attack
def test_file__that_is_no_saved_copy_or_an_altered_one__is_refused_and_writes_nothing(
    api: ApiTwin, machine: Terminal, recorded: tuple[Submitted, Path]
) -> None:
    (whole := saved(machine)).rename(machine.home / "whole.tar")
    content = (machine.home / "whole.tar").read_bytes()
    links = machine.home / "links.tar"
    with tarfile.open(links, "w") as archive:
        for name in ("envelope.json", "ciphertext.age"):
            (member := tarfile.TarInfo(f"../{name}")).type = tarfile.SYMTYPE
            member.linkname = str(machine.home / "kept" / "submissions" / "1-copy" / name)
            archive.addfile(member)
    (machine.home / "short.tar").write_bytes(content[:-20_000])
    (machine.home / "none.tar").write_bytes(b"no archive")
    before = sorted(machine.home.iterdir())
    for name, code in (
        ("links.tar", "envelope_mismatch"),
        ("short.tar", "file_unreadable"),
        ("none.tar", "file_unreadable"),
    ):
        ran = machine.run("solver:submit", "--put-back", recorded[0].bounty, name, code=1)
        assert ran.last["code"] == code
    assert (api.approvals(), api.objects) == ([], {})
    assert sorted(machine.home.iterdir()) == before
    assert not whole.exists()
    machine.run("solver:submit", recorded[0].bounty, "whole.tar", code=2)


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
