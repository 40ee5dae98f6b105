"""The release before and this one side by side on one database: no request fails on the way there or on the way back.

The order is that of docs/operations.md: the migration while the former release serves, then the reviewer's workers,
then everything else, the api before the pages; back in the opposite order, on the schema as it is.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest
import urllib3
from bounty_protocol.rubric import known_rubrics
from demo.bounty import Cast, Funded, Submitted
from demo.examples import artifact, same_files
from local_stack.launch import RunningProcess
from local_stack.services import MIGRATE, MIGRATOR
from local_stack.stack import Stack, StackSettings, running_stack

from tests.upgrade.former import NEW, OTHERS, former_client, former_file, former_programs, former_services
from tests.upgrade.load import Load

PRESENT = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A stack on the former release, a bounty with a Submission that is to end soon, and people at work on another."""

    stack: Stack
    cast: Cast
    bounty: Funded
    work: Submitted
    load: Load
    former: dict[str, Path]

    def programs(self, name: str, *, present: bool) -> Path:
        """Where the entry point of a process lies in one of the two releases."""
        return PRESENT if present else self.former[self.stack.services[name].process.command[0]]

    def schema(self) -> str:
        url = self.stack.launcher.databases[MIGRATOR]
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT version_num FROM schema_version").fetchone()
        assert row is not None
        return str(row[0])

    def migrate(self) -> None:
        """This release's migration, while everything else goes on."""
        once = replace(MIGRATE, name="migrate-present")
        self.stack.launcher.finish(self.stack.launcher.start_once(once, PRESENT))

    def replace_one(self, name: str, *, present: bool) -> None:
        """What no request waits for: stopped, and started again from the other release."""
        service = self.stack.services[name]
        service.stop()
        service.programs = self.programs(name, present=present)
        service.restart()

    def look_at_pages(self) -> None:
        """Each kind of page that the api's answers make."""
        for path in ("/", f"/bounties/{self.bounty.bounty_id}", f"/people/{self.work.solver}", "/guardians"):
            answer = urllib3.request("GET", f"{self.stack.pages_url}{path}", timeout=20.0, retries=False)
            assert answer.status == 200, path

    def replace_worker(self, *, present: bool) -> None:
        """As a Deployment does it: the new worker takes reviews beside the old one before that one is asked to end."""
        folder = self.programs("reviewer-worker", present=present)
        other = self.stack.services["reviewer-worker"].beside(f"reviewer-worker-{present}", folder)
        self.load.go_on()
        self.replace_one("reviewer-worker", present=present)
        other.stop()
        self.load.go_on()

    def replace_api(self, *, present: bool) -> None:
        """Both releases answer side by side; each is taken out of turn before it ends."""
        api = self.stack.services["api"]
        folder = self.programs("api", present=present)
        other = api.beside(f"api-{present}", folder)
        self.load.apis["beside"] = other.addresses()["url"]
        self.load.go_on()
        first = self.load.apis.pop("first")
        self.load.go_on()  # what was begun before it was taken out is answered, too
        api.stop()
        api.programs = folder
        api.restart()
        self.load.apis["first"] = first
        self.load.go_on()
        del self.load.apis["beside"]
        self.load.go_on()
        other.stop()


def submit_as_before(cast: Cast, bounty: Funded, solver: str) -> Submitted:
    """With the former client: people upgrade when they like."""
    person = cast.person(solver)
    directory = artifact(person.home / f"work-{bounty.bounty_id}")
    ran = person.run("solver:submit", bounty.bounty_id, str(directory), program=former_client())
    recorded = ran.event("submit.submission_recorded")
    return Submitted(recorded.text("solver"), recorded.text("submission_commitment"), directory)


@pytest.fixture
def upgrade(tmp_path: Path) -> Iterator[Upgrade]:
    former = former_programs()
    with running_stack(StackSettings(programs=former, services=former_services())) as stack:
        cast = Cast(stack, tmp_path)
        lasting = cast.fund(submission_seconds=3_000, judging_seconds=3_000, title="Worked on all the time")
        load = Load(stack, lasting, submit_as_before(cast, lasting, "solver-1"), {"first": stack.api_base_url})
        bounty = cast.fund(submission_seconds=30, judging_seconds=300)
        work = submit_as_before(cast, bounty, "solver-1")
        yield Upgrade(stack, cast, bounty, work, load, former)


def test_upgrade__one_process_after_the_other__fails_no_request_and_can_be_taken_back(upgrade: Upgrade) -> None:
    before = upgrade.schema()
    with upgrade.load.going():
        # 1. There: the schema first, then the workers that jobs of both releases go to, the api before the pages.
        upgrade.load.go_on()
        upgrade.migrate()
        assert upgrade.schema() > before
        upgrade.load.go_on()
        upgrade.replace_worker(present=True)
        for name in OTHERS:
            upgrade.replace_one(name, present=True)
        upgrade.replace_api(present=True)
        upgrade.replace_one("web", present=True)
        upgrade.look_at_pages()
        started = [RunningProcess(upgrade.stack.launcher, each, PRESENT) for each in NEW]
        for each in started:
            each.start()
            each.wait_ready()
        end_well(upgrade)

        # 2. Back: what is new, then the api; the schema stays.
        for each in started:
            each.stop()
        upgrade.cast.submit(upgrade.cast.fund(submission_seconds=300, judging_seconds=300, title="New"), "solver-2")
        second = upgrade.cast.fund(submission_seconds=300, judging_seconds=300, title="Before going back")
        upgrade.replace_one("web", present=False)
        upgrade.look_at_pages()
        upgrade.replace_api(present=False)
        upgrade.look_at_pages()
        upgrade.replace_worker(present=False)
        for name in OTHERS:
            upgrade.replace_one(name, present=False)
        submit_as_before(upgrade.cast, second, "solver-2")
        third = upgrade.cast.fund(submission_seconds=300, judging_seconds=300, title="After")
        submit_as_before(upgrade.cast, third, "solver-1")
        upgrade.load.go_on()


def end_well(upgrade: Upgrade) -> None:
    """What was begun on the former release is opened, awarded, paid, delivered and audited on this one."""
    cast, bounty, work = upgrade.cast, upgrade.bounty, upgrade.work
    cast.wait_for(bounty.reveal_at)
    pair = (bounty.bounty_id, work.solver, work.commitment)
    cast.person("guardian-1").run("guardian:open", *pair, "opened")
    assert same_files(cast.person("guardian-1").home / "opened", work.directory)
    for guardian in ("guardian-1", "guardian-2"):
        cast.award(bounty, guardian, work, "All criteria hold.\n", opened=False)
    cast.person("solver-1").run("claim", bounty.bounty_id)
    cast.person("guardian-1").run("guardian:deliver-key", *pair)
    cast.person("poster").run("poster:open-winning-submission", bounty.bounty_id)
    audited = cast.person("solver-2").audit(bounty.bounty_id)
    assert audited.event("service_audit.finished").fields["differs"] == 0


def test_rubric__of_the_former_release__is_the_one_that_its_reviews_are_held_against() -> None:
    former = former_file("rubric/readiness.md").decode()
    assert former in {rubric.text for rubric in known_rubrics()}
