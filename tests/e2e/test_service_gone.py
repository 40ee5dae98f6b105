"""A bounty whose service ends for good between the reveal point and the first Verdict, with all that it stored.

A stack of its own. The Solver's sealed bytes are enough for the work to be judged and for everyone to be paid.
"""

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from demo.bounty import Cast
from local_stack.stack import StackSettings, running_stack

WINDOW = 45


@pytest.fixture(scope="module")
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    with running_stack(StackSettings()) as stack:
        yield Cast(stack, tmp_path_factory.mktemp("people"))


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_bounty_without_its_service_is_judged_and_paid(doomed: Cast) -> None:
    cast, began = doomed, time.monotonic()
    bounty = cast.fund(submission_seconds=WINDOW, judging_seconds=600, title="The last one")
    submitted = cast.submit(bounty, "solver-1")
    solver = cast.person("solver-1")
    (sealed,) = solver.home.rglob("ciphertext.age")
    guardians = [cast.person(name) for name in ("guardian-1", "guardian-2")]
    cast.wait_for(bounty.reveal_at)

    for service in cast.stack.services.values():
        service.kill()
    for server in (cast.stack.postgres, cast.stack.valkey, cast.stack.gcs):
        server.stop()
    gone = time.monotonic()

    for guardian in guardians:
        shutil.copytree(sealed.parent, guardian.home / "passed-on")
        one = ("--submission", submitted.commitment)
        guardian.run("guardian:open", bounty.bounty_id, *one, "--from", "passed-on")
        below = guardian.home / "submissions" / bounty.bounty_id
        (opened,) = below.iterdir()
        assert files_below(opened) == files_below(submitted.directory)
        (guardian.home / "why.md").write_text("It meets each criterion of the page, as I read them before.\n")
        guardian.run(
            "guardian:verdict", bounty.bounty_id, "awarded", *one, "why.md",
            "--unpublished", "verdict.md",
        )  # fmt: skip
        assert (guardian.home / "verdict.md").exists()
    key = solver.environment["SERVICE_SOLVER_PRIVATE_KEY"]
    winner = replace(solver, environment={**solver.environment, "SERVICE_CLAIMANT_PRIVATE_KEY": key})
    before = cast.token_balance(submitted.solver)
    winner.run("claim", bounty.bounty_id)
    assert cast.token_balance(submitted.solver) > before
    for guardian in guardians:
        guardian.run("guardian:claim-fee", bounty.bounty_id)
    print(f"with the service {gone - began:.0f} s, without it {time.monotonic() - gone:.0f} s")
