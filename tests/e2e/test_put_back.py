"""A play: the storage loses sealed work; its Solver hears of it and puts it back from another machine."""

import shutil
from dataclasses import replace
from pathlib import Path

from demo.bounty import Cast, Funded
from demo.person import Person

from tests.kept import inspect_now, lose_objects
from tests.waiting import wait_until

LONG = 3_600
SOLVER = "solver-2"


def is_told(solver: Person, address: str, bounty: Funded) -> bool:
    """Whether ``status`` has the task, with the bounty."""
    events = solver.run("status", "--address", address, code=None).events
    return any(each.fields.get("task") == "put_back" and bounty.bounty_id in str(each.fields) for each in events)


def test_sealed_work__that_the_storage_lost__is_told_of_and_put_back_from_another_machine(
    cast: Cast, tmp_path: Path
) -> None:
    solver, address = cast.person(SOLVER), cast.address(SOLVER)
    bounty = cast.fund(submission_seconds=LONG, judging_seconds=LONG, title="Lost, told of, put back")
    cast.submit(bounty, SOLVER)
    solver.run("keep", bounty.bounty_id, "kept")
    assert not is_told(solver, address, bounty)

    lose_objects(cast.stack)
    inspect_now(cast.stack)
    wait_until(lambda: is_told(solver, address, bounty), 120)
    assert cast.page_shows(bounty, "This service no longer has the sealed bytes")

    other = replace(solver, home=tmp_path)
    kept = Path(shutil.copytree(solver.home / "kept", tmp_path / "kept"))
    (sealed,) = kept.rglob("ciphertext.age")
    whole = sealed.read_bytes()
    sealed.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    refused = other.run("solver:submit", "--put-back", bounty.bounty_id, "kept", code=1)
    assert refused.event("submit.refused").text("code") == "storage_mismatch"
    sealed.write_bytes(whole)
    other.run("solver:submit", "--put-back", bounty.bounty_id, "kept")

    inspect_now(cast.stack)
    wait_until(lambda: not is_told(solver, address, bounty), 120)
