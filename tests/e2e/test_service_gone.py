"""A bounty whose service ends for good between the reveal point and the first Verdict, with all that it stored.

A stack of its own. What was kept before is enough for everyone to be paid and for the work to be judged; and while the
service was there, a Solver put a lost upload back from another machine.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from demo.bounty import Cast
from demo.person import Person
from local_stack.stack import StackSettings, running_stack

WINDOW = 45


@pytest.fixture(scope="module")
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    with running_stack(StackSettings()) as stack:
        yield Cast(stack, tmp_path_factory.mktemp("people"))


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def other_machine(person: Person, home: Path) -> Person:
    """The same keys, and nothing else of what the first machine knows."""
    home.mkdir()
    return replace(person, home=home)


def empty_storage(cast: Cast) -> None:
    objects = cast.stack.gcs.credentials_file.parent / "objects"
    gone = [path for part in ("data", "facts") for path in (objects / part).rglob("*") if path.is_file()]
    for path in gone:
        path.unlink()
    assert gone


def test_bounty__whose_service_ends_after_the_reveal__is_judged_and_paid_by_what_was_kept(doomed: Cast) -> None:
    cast, began = doomed, time.monotonic()
    bounty = cast.fund(submission_seconds=WINDOW, judging_seconds=600, title="The last one")
    submitted = cast.submit(bounty, "solver-1")
    solver = cast.person("solver-1")
    solver.run("keep", bounty.bounty_id, "kept")

    # While the service answers: the storage loses the work, and another machine of the Solver puts it back.
    empty_storage(cast)
    other = other_machine(solver, cast.folder / "solver-1-elsewhere")
    back = other.run("solver:submit", bounty.bounty_id, "--put-back", str(solver.home / "kept"))
    back.event("submit.ciphertext_uploaded")

    guardians = [cast.person(name) for name in ("guardian-1", "guardian-2")]
    for guardian in guardians:
        ran = guardian.run("keep", bounty.bounty_id, "kept", "--sign-as", "guardian")
        assert ran.event("keep.done").fields["missing"] == 0
    cast.wait_for(bounty.reveal_at)
    looked = guardians[0].run("guardian:open", bounty.bounty_id, "--look").event("guardian_open.looked")
    assert looked.fields["openable"] == 1

    for service in cast.stack.services.values():
        service.kill()
    for server in (cast.stack.postgres, cast.stack.valkey, cast.stack.gcs):
        server.stop()
    gone = time.monotonic()

    for guardian in guardians:
        guardian.run("guardian:open", bounty.bounty_id, "--from", "kept")
        below = guardian.home / "submissions" / bounty.bounty_id
        (opened,) = below.iterdir()
        assert files_below(opened) == files_below(submitted.directory)
        (guardian.home / "why.md").write_text("It meets each criterion of the page, read from kept/challenge.md.\n")
        guardian.run(
            "guardian:verdict", bounty.bounty_id, "awarded", "--submission", "1", "why.md",
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
        guardian.run("guardian:forget", bounty.bounty_id)
    assert {name.split("/")[0] for name in files_below(guardians[0].home / "kept")} == {
        "README.md",
        "challenge.md",
        "submissions",
    }
    print(f"with the service {gone - began:.0f} s, without it {time.monotonic() - gone:.0f} s")
