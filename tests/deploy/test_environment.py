"""Environment files: read alike by a shell and by a dotenv parser, private, and never shared by two stacks."""

import json
import stat
import subprocess
from pathlib import Path

import pytest
from local_stack.accounts import make_people
from local_stack.environment import claim_files
from local_stack.process import StackError

VALUES = {
    "SERVICE_CHAIN_ID": "31337",
    "SERVICE_RPC_URL": "http://127.0.0.1:8545/?a=b&c=$HOME#x",
    "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON": json.dumps(["AGE-SECRET-KEY-1AB", "AGE-SECRET-KEY-1CD"]),
    "SERVICE_EMPTY": "",
    "SERVICE_WORDS": 'two words, "quotes", `ticks` and $(commands)',
}


def read_by_shell(path: Path) -> dict[str, str]:
    script = 'set -a; . "$1"; exec env -0'
    output = subprocess.run(["/bin/sh", "-c", script, "sh", path], env={}, capture_output=True, text=True, check=True)
    pairs = (line.partition("=") for line in output.stdout.split("\0") if line)
    return {name: value for name, _, value in pairs if name.startswith("SERVICE_")}


def test_files__written_and_removed__are_private(tmp_path: Path) -> None:
    files = claim_files(tmp_path / "new/stack.env", exactly=True)
    files.write({"SERVICE_A": "1"}, {"poster": {"SERVICE_B": "2"}})

    assert files.path == tmp_path / "new/stack.env"
    assert files.role_path("poster") == tmp_path / "new/stack/poster.env"
    for path in (files.path, files.role_path("poster")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_by_shell(files.role_path("poster")) == {"SERVICE_B": "2"}

    files.remove()
    assert list((tmp_path / "new").iterdir()) == []


def test_claim__name_in_use__takes_a_number_or_refuses(tmp_path: Path) -> None:
    first = claim_files(tmp_path / "stack.env", exactly=False)
    second = claim_files(tmp_path / "stack.env", exactly=False)

    assert second.path.name == "stack-2.env"
    assert second.role_path("poster") == tmp_path / "stack-2/poster.env"
    with pytest.raises(StackError, match="another stack is using"):
        claim_files(tmp_path / "stack.env", exactly=True)

    first.remove()
    third = claim_files(tmp_path / "stack.env", exactly=True)
    assert third.path == first.path
    second.remove()
    third.remove()


def test_people__variables__give_each_role_its_own_keys_only() -> None:
    people = make_people(solvers=2, guardians=3)
    everything = people.variables()
    by_name = people.by_name()

    assert set(by_name["guardian-2"].variables()) == {
        "SERVICE_GUARDIAN_ADDRESS",
        "SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY",
        "SERVICE_GUARDIAN_PRIVATE_KEYS_JSON",
    }
    solver = by_name["solver-2"].variables()
    assert solver["SERVICE_CLAIMANT_PRIVATE_KEY"] == solver["SERVICE_SOLVER_PRIVATE_KEY"]
    assert everything["SERVICE_SOLVER_PRIVATE_KEY"] == people.solvers[0].wallet.private_key
    assert everything["SERVICE_SOLVER_PRIVATE_KEY_2"] == people.solvers[1].wallet.private_key
    assert everything["SERVICE_GUARDIAN_ACCOUNT_PRIVATE_KEY_3"] == people.guardians[2].wallet.private_key
    assert everything["SERVICE_CLAIMANT_PRIVATE_KEY"] == everything["SERVICE_SOLVER_PRIVATE_KEY"]
    keys = [value for name, value in everything.items() if "PRIVATE_KEY" in name and "CLAIMANT" not in name]
    assert len(set(keys)) == len(keys) == 9 + 3
    assert all(key not in repr(people) for key in keys)
