"""A drill: a Hub is left for another, and served beside it from the first day to its last claim.

A stack of its own. What docs/keys.md tells an operator and those with money at the old Hub, in its order; the
seconds that each part took are printed.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import urllib3
from demo.bounty import Cast, Funded, Submitted
from demo.examples import challenge_page
from demo.person import Person
from dotenv import dotenv_values
from local_stack.services import SERVICES
from local_stack.stack import Stack, StackSettings, deploy_beside, running_stack

from tests.e2e.memory import family
from tests.waiting import wait_until

STAYS = {"api", "api-worker", "delivery", "indexer-worker"}
"""What ``former-hub`` keeps."""
SETTINGS = StackSettings(services=tuple(each for each in SERVICES if each.name != "settler"))
"""Without the settler: here two would have one account."""
WINDOW = 60


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    with running_stack(SETTINGS) as stack:
        yield Cast(stack, tmp_path_factory.mktemp("people"))
        stack.check()


def read(address: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(urllib3.request("GET", address, timeout=10.0).data)
    return found


def status(stack: Stack) -> dict[str, Any]:
    return read(f"{stack.api_base_url}/api/status")


def page(address: str) -> str:
    return urllib3.request("GET", address, timeout=10.0).data.decode()


def keys_of(person: Person, *more: str) -> dict[str, str]:
    """What somebody has exported who uses the new Hub by its network alone: keys, an endpoint, nothing of a Hub."""
    return {name: value for name, value in person.environment.items() if "KEY" in name or name in more}


def at_the_old_hub(cast: Cast, name: str, settings: str) -> Person:
    """The same person in a directory with the old Hub's file, on the machine that it always used."""
    person = cast.person(name)
    home = person.home / "old-hub"
    home.mkdir()
    kept = {"XDG_STATE_HOME": str(person.home / "state")}
    values = {name: value for name, value in dotenv_values(stream=StringIO(settings)).items() if value is not None}
    return replace(person, home=home, environment=keys_of(person, "SERVICE_RPC_URL") | kept | values)


def resident_mebibytes(stack: Stack) -> float:
    pages = 0
    for service in stack.services.values():
        for pid in family(service.child.pid) if service.child is not None else ():
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass
class Timetable:
    """Prints how long each part took."""

    began: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)

    def note(self, done: str) -> None:
        now = time.monotonic()
        print(f"{now - self.began:6.1f} s  {now - self.last:6.1f} s  {done}", file=sys.stderr)
        self.last = now


def stop_funding(old: Cast) -> None:
    """By the operator's setting: no page is published at the old Hub any more."""
    api = old.stack.services["api"]
    api.stop()
    api.restart({"SERVICE_PUBLICATIONS": "off"})
    poster = old.person("poster")
    another = challenge_page(
        poster.home, submission_deadline=old.chain_time() + 600, judging_window_seconds=600, title="Too late"
    )
    ran = poster.run("poster:publish-fund", "--again", str(another), code=1)
    assert ran.events[-1].text("code") == "invalid_bounty_challenge"


def mix(old: Cast, new: Cast, work: Submitted) -> None:
    """The Hub of one and the API of the other: nothing is shown or sent."""
    mixed = {**old.person("guardian-1").environment, "SERVICE_API_BASE_URL": new.stack.api_base_url}
    confused = replace(old.person("guardian-1"), environment=mixed)
    for words in (("bounty:show", "1"), ("guardian:open", "1", work.solver, work.commitment, "mixed")):
        ran = confused.run(*words, code=1)
        assert ran.events[-1].text("code") == "deployment_mismatch", ran.words


def decide(old: Cast, guardians: list[Person], bounty: Funded, work: Submitted) -> None:
    """By the file that the old deployment hands out, in a directory of its own: opened, judged, delivered."""
    guardians[0].run("doctor")
    old.wait_for(bounty.reveal_at)
    wait_until(lambda: status(old.stack)["totals"]["judgeable_count"] == 1)
    guardians[0].run("guardian:open", "1", work.solver, work.commitment, "opened")
    for guardian in guardians:
        (guardian.home / "why.md").write_text("All criteria hold.\n")
        guardian.run("guardian:verdict", "1", "awarded", work.solver, work.commitment, "why.md", "--unopened")
    wait_until(lambda: status(old.stack)["totals"]["open_count"] == 0)
    guardians[0].run("guardian:deliver-key", "1", work.solver, work.commitment)


def serve_small(stack: Stack) -> None:
    """What has no open bounty any more is served by seven processes."""
    whole = resident_mebibytes(stack)
    for name, service in stack.services.items():
        if name not in STAYS:
            service.stop()
    small = {name: service for name, service in stack.services.items() if name in STAYS}
    left = resident_mebibytes(replace(stack, services=small))
    print(f"resident: {whole:.0f} MiB with all processes, {left:.0f} MiB with those that stay", file=sys.stderr)


def claim_where_it_is_served(old: Cast, poster: Person, guardian: Person, settings: str, work: Submitted) -> None:
    poster.run("poster:open-winning-submission", "1")
    before = old.token_balance(work.solver)
    at_the_old_hub(old, "solver-1", settings).run("claim", "1")
    assert old.token_balance(work.solver) > before
    guardian.run("guardian:claim-fee", "1")
    wait_until(lambda: status(old.stack)["totals"]["awards_paid"] != "0")


def claim_alone(old: Cast, people: list[Person]) -> None:
    """The last ones without a service: Hub and RPC alone. No command claims the operator's own fee."""
    stack = old.stack
    for service in stack.services.values():
        service.stop()
    hub = stack.hub.hub.address
    bare = {"CHAIN_ID": stack.anvil.chain_id, "HUB_ADDRESS": hub, "ESCROW_TOKEN_ADDRESS": stack.hub.token.address}
    bare |= {"TIMELOCK_REVEAL_DELAY_SECONDS": stack.settings.terms.reveal_delay}
    bare |= {
        "API_BASE_URL": stack.api_base_url,
        "SUBGRAPH_ENDPOINT": f"{stack.api_base_url}/subgraph",
    }  # local needs them
    for person, claim in zip(people, ("guardian:claim-fee", "claim"), strict=True):
        values = {f"SERVICE_{name}": str(value) for name, value in bare.items()}
        replace(person, environment={**person.environment, **values}).run(claim, "1")
    stack.hub.hub.transact(stack.people.fee_recipient.wallet, "claimProtocolFee", 1)
    assert old.token_balance(hub) == 0


def test_hub__that_is_left__is_served_beside_its_successor_to_the_last_claim(old: Cast, tmp_path: Path) -> None:
    times, first = Timetable(), old.stack
    bounty = old.fund(submission_seconds=WINDOW, judging_seconds=3_600, title="From before")
    work = old.submit(bounty, "solver-1")
    times.note("a bounty in play, with sealed work")

    # On the same servers: its own database and queues, the same bucket, token and people.
    second = deploy_beside(first, SETTINGS)
    new = Cast(second, tmp_path / "people")
    assert second.hub.token.address == first.hub.token.address
    times.note("the successor deployed and ready")
    stop_funding(old)
    times.note("funding refused at the old Hub")

    there = new.fund(submission_seconds=3_600, judging_seconds=3_600, title="At the successor")
    assert there.bounty_id == bounty.bounty_id == "1"
    new.submit(there, "solver-2")
    mix(old, new, work)
    times.note("the same number funded and submitted to at the successor, and never mixed")

    settings = page(f"{first.api_base_url}/api/deployment/client.env")
    assert first.anvil.url not in settings
    guardians = [at_the_old_hub(old, name, settings) for name in ("guardian-1", "guardian-2")]
    decide(old, guardians, bounty, work)
    times.note("opened, judged, final and delivered at the old Hub")
    serve_small(first)
    poster = at_the_old_hub(old, "poster", settings)
    claim_where_it_is_served(old, poster, guardians[0], settings, work)
    times.note("claimed with the old deployment served small")
    claim_alone(old, [guardians[1], poster])
    times.note("the last claim, by Hub and RPC alone")

    # The successor never noticed.
    totals = status(second)["totals"]
    assert (totals["open_count"], totals["bounty_count"]) == (1, 1)
    assert new.token_balance(second.hub.hub.address) == int(totals["escrow_held"]) > 0
    assert new.person("guardian-1").run("bounty:show", "1").events
    second.check()
