"""A drill: a Guardian's account key is stolen while a bounty runs.

What the others see, and what they can do, in the order of docs/guardian.md ("When a Guardian's key is stolen"), to the
last claim.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import urllib3
from demo.bounty import Cast, Funded
from demo.person import Person, Ran
from local_stack.contract import Wallet

from tests.deploy.test_hub_operations import operate
from tests.waiting import wait_until

SUBMISSION_SECONDS = 30
JUDGING_SECONDS = 3_600


def thief_of(victim: Person) -> Person:
    """Whoever has the victim's keys, on a machine that knows nothing else."""
    home = victim.home.parent / "thief"
    home.mkdir()
    return replace(victim, home=home)


def seen_by(person: Person, address: str, bounty: Funded) -> dict[str, Any]:
    """What ``guardian:judgeable`` shows of a bounty, on this Guardian's machine."""
    ran = person.run("guardian:judgeable", "--guardian-address", address)
    return next((dict(each.fields) for each in ran.events if each.fields.get("bounty_id") == bounty.bounty_id), {})


def read(address: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(urllib3.request("GET", address, timeout=10.0).data)
    return found


def replaced_by(person: Person, bounty: Funded, reasons: str, *words: str, code: int = 0) -> Ran:
    """A Verdict in the place of the one that stands."""
    body = person.home / "why.md"
    body.write_text(reasons, encoding="utf-8")
    return person.run("guardian:verdict", bounty.bounty_id, *words, str(body), "--unopened", "--replace", code=code)


def roster_without(cast: Cast, stolen: str, folder: Path) -> str:
    """The Hub's owner has a new account in the stolen one's place, by the program of the operators; its address."""
    new = Wallet().address
    members = [
        {
            "guardian_address": new if each.address == stolen else each.address,
            "encryption_public_key": each.identity.public_key,
        }
        for each in cast.stack.people.guardians
        if each.identity is not None
    ]
    roster = folder / "roster.json"
    roster.write_text(json.dumps({"quorum": 2, "members": members}), encoding="utf-8")
    hub = ("admin", "--rpc-url", cast.stack.anvil.url, "--hub", cast.stack.hub.hub.address)
    assert stolen not in operate(*hub, "--send", "publish-roster", str(roster), key=cast.stack.people.owner.wallet)
    cast.wait_for(cast.chain_time() + cast.stack.hub.terms.publication_delay + 1)
    return new


def test_guardian__whose_key_is_stolen__is_seen_to_be_and_cannot_take_the_award(cast: Cast) -> None:
    names = ("guardian-1", "guardian-2")
    victim, other = (cast.person(name) for name in names)
    stolen, others_address = (cast.address(name) for name in names)
    bounty = cast.fund(submission_seconds=SUBMISSION_SECONDS, judging_seconds=JUDGING_SECONDS, title="The stolen key")
    work = cast.submit(bounty, "solver-1")
    award = ("awarded", work.solver, work.commitment)
    cast.wait_for(bounty.reveal_at)
    victim.run("guardian:open", bounty.bounty_id, work.solver, work.commitment, "opened-before-the-theft")
    cast.award(bounty, "guardian-1", work, "All criteria hold.\n", opened=False)
    wait_until(lambda: bool(seen_by(other, others_address, bounty)))
    assert "replacements" not in seen_by(other, others_address, bounty)

    # The thief votes in the Guardian's place.
    thief = thief_of(victim)
    replaced_by(thief, bounty, "Nothing is valid.\n", "no_valid_submission")

    # Everybody sees it: the other Guardians, the Guardian itself, the page, its feed, and programs.
    wait_until(lambda: "replacements" in seen_by(other, others_address, bounty))
    shown = seen_by(other, others_address, bounty)
    assert "replaced" not in shown, "it is not this Guardian's own"
    (found,) = shown["replacements"]
    named = {name: found[name] for name in ("guardian_address", "replaced_kind", "replaced_solver_address", "kind")}
    assert named == {
        "guardian_address": stolen,
        "replaced_kind": "awarded",
        "replaced_solver_address": work.solver,
        "kind": "no_valid_submission",
    }
    assert seen_by(victim, stolen, bounty)["replaced"] is True
    assert cast.page_shows(bounty, "A Guardian may change its mind until the bounty is final.")
    assert f":replaced:{stolen}:" in urllib3.request("GET", f"{cast.page_address(bounty)}/feed.atom").data.decode()

    # 1. The Guardian records its own again; the thief can answer, and does.
    replaced_by(victim, bounty, "All criteria hold, and this is mine.\n", *award)
    wait_until(lambda: "replaced" not in seen_by(victim, stolen, bounty))
    replaced_by(thief, bounty, "Nothing is valid, once more.\n", "no_valid_submission")
    wait_until(lambda: "replaced" in seen_by(victim, stolen, bounty))
    (latest,) = seen_by(other, others_address, bounty)["replacements"]  # one of each Guardian, however often
    assert {name: latest[name] for name in named} == named

    # 2. The others, who were told, decide without that Guardian: one false Verdict decides nothing.
    for guardian in ("guardian-2", "guardian-3"):
        cast.award(bounty, guardian, work, "All criteria hold.\n", opened=False)
    late = replaced_by(thief, bounty, "Nothing at all.\n", "no_valid_submission", code=1)
    assert late.event("guardian_verdict.refused").text("code") == "bounty_final"

    # 3. The roster is changed: the next bounty does not know the account, the one that exists keeps it.
    new = roster_without(cast, stolen, thief.home)
    next_one = cast.fund(
        submission_seconds=SUBMISSION_SECONDS, judging_seconds=JUDGING_SECONDS, title="After the theft"
    )
    (pinned,) = victim.run("bounty:show", next_one.bounty_id).events
    assert new.lower() in json.dumps(pinned.fields).lower()
    assert stolen not in json.dumps(pinned.fields)
    cast.wait_for(next_one.reveal_at)
    refused = replaced_by(thief, next_one, "Nothing is valid.\n", "no_valid_submission", code=1)
    assert refused.event("guardian_verdict.refused").text("code") == "not_guardian"
    assert stolen in json.dumps(victim.run("bounty:show", bounty.bounty_id).events[0].fields)

    # 4. What the account is owed is moved while it is the Guardian's; claims pay the account alone.
    before = cast.token_balance(stolen)
    claimed = victim.run("guardian:claim-fee", bounty.bounty_id).event("guardian_claim_fee.claimed")
    assert cast.token_balance(stolen) - before == int(claimed.text("amount"))
    twice = thief.run("guardian:claim-fee", bounty.bounty_id, code=1)
    assert twice.events[-1].text("code") == "fee_already_claimed"
    held = cast.token_balance(work.solver)
    cast.person("solver-1").run("claim", bounty.bounty_id)
    assert cast.token_balance(work.solver) > held
