"""What of a directory is sealed, and ``solver:submit --check``, which only shows it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.api_twin import ApiTwin
from tests.cli.ledger import Ledger
from tests.cli.screen import CODES, at_terminal
from tests.cli.servers import RpcProxy
from tests.cli.terminal import Terminal


def tree(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def work(solver: Terminal) -> Path:
    return tree(solver.home / "work", {"main.py": "print(1)\n", "src/b.py": "x" * 5_000})


def test_too_much_work_names_the_largest_files(
    api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: Path
) -> None:
    for name, size in (("large.bin", 700 * 2**20), ("larger.bin", 800 * 2**20)):
        with (work / name).open("wb") as file:
            file.truncate(size)
        (work / name).chmod(0)  # nobody opens it
    ran = solver.run("solver:submit", bounty, "work", code=1)
    assert ran.last["code"] == "archive_refused"
    message = str(ran.last["message"])
    assert "1.5 GiB in 4 files, more than 1 GiB" in message
    assert message.index("larger.bin' (800 MiB)") < message.index("large.bin' (700 MiB)")
    assert (rpc.sent(), api.approvals()) == (0, [])


def test_ignored_files_are_listed_before_sealing(solver: Terminal, bounty: str, work: Path) -> None:
    tree(work, {".bountyignore": "*.log\nbuild/\n", "a.log": "x", "build/x/y": "x"})
    ran = solver.run("solver:submit", bounty, "work")
    assert [event["path"] for event in ran.events if event["event"] == "submit.left_out"] == [
        ".bountyignore", "a.log", "build/",
    ]  # fmt: skip
    (work / "a.log").write_text("changed")
    assert solver.run("solver:submit", bounty, "work").last == ran.last


def test_marked_ignore_file_keeps_its_first_line(api: ApiTwin, solver: Terminal, bounty: str, work: Path) -> None:
    """Some editors write a byte order mark before UTF-8."""
    tree(work, {".bountyignore": "\ufeffsecret.txt\n*.log\n", "secret.txt": "x", "a.log": "x"})
    ran = solver.run("solver:submit", "--check", bounty, "work")
    assert [one["path"] for one in ran.events if one["event"] == "submit.file"] == ["main.py", "src/b.py"]


def test_check_shows_files_costs_and_times(
    ledger: Ledger, api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: Path
) -> None:
    tree(work, {".env": "A=1\n", ".bountyignore": "b.py\n"})
    keyless = {name: value for name, value in solver.environment.items() if "PRIVATE_KEY" not in name}
    address = ledger.people.solvers[0].address
    by_wallet = ("--solver-address", address, "--without-api")
    for terminal, options in ((solver, ()), (replace(solver, environment=keyless), by_wallet)):
        ran = terminal.run("solver:submit", "--check", *options, bounty, "work")
        files = {event["path"]: event["byte_length"] for event in ran.events if event["event"] == "submit.file"}
        assert files == {".env": 4, "main.py": 9}
        checked = ran.event("submit.checked")
        assert (checked["file_count"], checked["byte_length"], checked["left_out_count"]) == (2, 13, 2)
        assert (checked["secret_files"], checked["replaces"]) == ([".env"], None)
        assert checked["submission_deadline"] == ledger.contract.call("getBounty", int(bounty))[3]
        assert 0 < int(str(checked["gas_cost"])) < int(str(checked["balance"]))
    assert (rpc.sent(), api.approvals(), list(solver.home.rglob("*.age"))) == (0, [], [])
    seen = at_terminal(solver, "solver:submit", "--check", "--without-api", bounty, "work", watched=True)
    assert f"service-cli solver:submit --without-api {bounty} work" in " ".join(CODES.sub("", seen.screen).split())


@pytest.mark.parametrize("option", [(), ("--check",)])
def test_account_without_ether_seals_nothing(
    api: ApiTwin, rpc: RpcProxy, solver: Terminal, bounty: str, work: Path, option: tuple[str, ...]
) -> None:
    rpc.after = lambda method, _params, result: "0x0" if method == "eth_getBalance" else result
    ran = solver.run("solver:submit", *option, bounty, "work", code=0 if option else 1)
    if option:
        assert "less than the gas" in str(ran.last["warnings"])
    else:
        assert ran.last["code"] == "gas_insufficient"
    assert (rpc.sent(), api.approvals(), list(solver.home.rglob("*.age"))) == (0, [], [])
