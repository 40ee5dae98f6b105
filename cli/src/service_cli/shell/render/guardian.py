"""The Guardian's events as text."""

from collections.abc import Iterator

from service_cli.shell.render.fields import Fields, at, counted, following, short, tokens, transaction
from service_cli.shell.render.poster import artifact_opened
from service_cli.shell.render.screen import Column, Fact, Item, Row, Screen, Shown
from service_cli.shell.render.solver import waiting
from service_cli.shell.text import About

_KEYS = (Column("KEY"), Column("IN THE ROSTER"))


def _judgeable(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    bounty_id, deadline = fields.text("bounty_id", 20), fields.whole("judging_deadline")
    submissions, unopened = list(fields.rows("submissions")), set(fields.texts("unopened"))
    if deadline <= screen.now:
        yield f"Bounty {bounty_id}: the time for Verdicts is over since {at(deadline, screen)}; anyone can settle it."
    else:
        yield f"Bounty {bounty_id}: judge until {at(deadline, screen)}."
    own = fields.inner("own_verdict")
    yield Fact("Your Verdict", "none yet" if own is None else _verdict(own))
    yield Fact("Submissions", f"{len(submissions)}, {len(unopened)} not opened on this machine")
    if unopened:
        yield following(f"guardian:open {bounty_id}")
    elif own is None and submissions and deadline > screen.now:
        yield from _judging(bounty_id)


def _judging(bounty_id: str) -> Iterator[Item]:
    """The two commands of which one comes next, once the work is read."""
    yield following(f"guardian:verdict {bounty_id} awarded --submission N")
    yield Fact("Or", f"service-cli guardian:verdict {bounty_id} no_valid_submission", whole=True)


def _verdict(fields: Fields) -> str:
    if fields.maybe("kind") != "awarded":
        return "no valid Submission"
    solver = fields.maybe("solver_address") or fields.maybe("solver")
    return "an award" if solver is None else f"an award to {short(solver)}"


def _delivery_owed(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    bounty_id = fields.text("bounty_id", 20)
    yield f"Bounty {bounty_id} was awarded, and its Poster waits for the key of the winning work."
    yield following(f"guardian:deliver-key {bounty_id}")


def _verified(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The Submission of {fields.text('solver')} is the one on chain, and your key opens it."


def _key_passed(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"The content key is in {fields.text('path')}, sealed so that only {fields.text('guardian')} can open it."
    yield Fact("Next", "that Guardian puts it as identity.age into a folder for guardian:open --from")


def _opened(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    yield from artifact_opened(fields, about, screen)
    yield Fact("Next", "read it, then record what you found: service-cli help guardian:verdict")
    yield Fact("Afterwards", f"once the bounty has ended: service-cli guardian:forget {fields.text('bounty_id')}")


def _listed(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"Submission {fields.whole('number')} by {fields.text('solver')}:"
    yield Fact("", fields.text("submission_commitment"), whole=True)


def _not_opened(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    number = fields.whole("number")
    yield f"{screen.bad('Not opened:')} Submission {number}, of {fields.text('solver')}. {fields.text('message')}"
    yield Fact("Fix", fields.text("next_action"))


def _all_opened(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    bounty_id, before, problems = fields.text("bounty_id"), fields.whole("opened_before"), fields.whole("not_opened")
    opened = counted(fields.whole("opened"), "Submission")
    yield f"{screen.good('Done.')} {opened} of bounty {bounty_id} opened below {fields.text('output_dir')}."
    if before:
        yield Fact("Before", f"{counted(before, 'Submission')} had been opened by an earlier run")
    if problems:
        yield Fact("Not opened", screen.bad(counted(problems, "Submission")))
    if fields.whole("opened") or before:
        yield from _judging(bounty_id)
        yield Fact("Afterwards", f"once the bounty has ended: service-cli guardian:forget {bounty_id}")


def _standing(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    agreeing, quorum = fields.whole("agreeing"), fields.whole("quorum")
    recorded = counted(fields.whole("recorded"), "Guardian")
    ending = "the bounty is final" if fields.values["final"] else "the bounty stays open until then, or its time is up"
    yield f"{recorded} recorded a Verdict, {agreeing} the same as you; {quorum} have to agree: {ending}."


def _removed(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    yield f"{counted(fields.whole('file_count'), 'file')} of opened work removed from {fields.text('path')}."
    for path in fields.texts("kept"):
        yield Fact("Kept", screen.bad(f"{path}, which somebody changed or added"))


def _published(fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield f"Your written Verdict on bounty {fields.text('bounty_id')} is published; anyone can read it."
    yield Fact("Report", fields.text("report_commitment"), whole=True)


def _read_back(_fields: Fields, _about: About, _screen: Screen) -> Iterator[Item]:
    yield "It reads back byte for byte."


def _recorded(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    bounty_id = fields.text("bounty_id")
    yield f"{screen.good('Done.')} Your Verdict on bounty {bounty_id} is recorded on chain: {_verdict(fields)}."
    if about.terms is not None:
        yield Fact("Judging", f"until {at(about.terms.judging_deadline, screen)}, or until a quorum agrees")
    yield from transaction(fields, about)
    yield following(f"bounty:watch {bounty_id}")


def _key_stored(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    bounty_id = fields.text("bounty_id")
    before = "" if fields.values["created"] else " It was there before."
    yield f"{screen.good('Done.')} The Poster of bounty {bounty_id} can open the winning work.{before}"
    yield Fact("Next", f"the Poster runs service-cli poster:open-winning-submission {bounty_id}")


def _key_written(fields: Fields, _about: About, screen: Screen) -> Iterator[Item]:
    count = fields.whole("key_count")
    yield f"{screen.good('Done.')} A new encryption key is in {fields.text('path')}, which now has {count}; back it up."
    yield Fact("Public key", fields.text("public_key"), whole=True)
    yield Fact("As age has it", fields.text("recipient"), whole=True)
    yield Fact("Next", "give the public key to the Hub's owner, who publishes a roster with it; keep older keys")


def _key(fields: Fields, _about: About, screen: Screen) -> Iterator[Shown]:
    held = fields.values["in_roster"]
    shown = "" if held is None else screen.good("yes") if held else screen.bad("no")
    number = fields.whole("position")
    yield Row(_KEYS, ("newest" if number == 0 else f"older, {number}", shown), note=fields.text("public_key"))


def _heartbeat(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    yield f"{screen.good('Done.')} Your sign of life is on chain, in block {fields.whole('block_number')}."
    yield from transaction(fields, about)
    yield Fact("Next", "nothing; Posters see in the roster when you were last active")


def _fee_claimed(fields: Fields, about: About, screen: Screen) -> Iterator[Item]:
    amount = fields.maybe_whole("amount")
    paid = "The Guardian's share" if amount is None else tokens(amount, about.token)
    yield f"{screen.good('Done.')} {paid} of bounty {fields.text('bounty_id')} went to your account."
    yield from transaction(fields, about)
    yield following("status")


TEXTS = {
    "guardian_judgeable.bounty": _judgeable,
    "guardian_judgeable.delivery_owed": _delivery_owed,
    "guardian_open.submission_verified": _verified,
    "guardian_open.key_passed": _key_passed,
    "guardian_open.artifact_opened": _opened,
    "guardian_open.submission_listed": _listed,
    "guardian_open.submission_not_opened": _not_opened,
    "guardian_open.finished": _all_opened,
    "guardian_forget.removed": _removed,
    "guardian_verdict.published": _published,
    "guardian_verdict.read_back": _read_back,
    "guardian_verdict.standing": _standing,
    "guardian_verdict.recorded": _recorded,
    "guardian_deliver_key.stored": _key_stored,
    "guardian_new_key.written": _key_written,
    "guardian_keys.key": _key,
    "guardian_heartbeat.recorded": _heartbeat,
    "guardian_claim_fee.waiting": waiting,
    "guardian_claim_fee.claimed": _fee_claimed,
}
