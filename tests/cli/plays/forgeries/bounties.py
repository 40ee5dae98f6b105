"""What is shown of bounties: the Hub's logs, their terms, their outcome, what is on record."""

import re
from collections.abc import Callable
from typing import Any, Final

from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.types import Bytes32, to_bytes

from tests.cli.ledger import ESCROW
from tests.cli.plays.acts import Act, Kind
from tests.cli.plays.facts import Fact
from tests.cli.plays.forgeries.answers import (
    Answers,
    Fields,
    Json,
    hidden,
    hub_log,
    invented,
    listed,
    together,
    topic_of,
    view,
    word,
)
from tests.cli.plays.forgeries.makers import both, fields, fixed, moved, only, route
from tests.cli.plays.forgeries.subject import BY_ANY, BY_NODE, Forger, subject
from tests.cli.plays.world import DAYS, World
from tests.cli.servers import Params

# -------------------------------------------------------------------- logs


def hide(event: str, which: Callable[[list[Json]], list[Json]] = lambda found: found) -> Forger:
    """Logs of an event do not show."""
    return lambda _world, _act: hidden(event, which)


def exchanged(take: Callable[[Json, Json], Json]) -> Forger:
    """The two newest Submissions of a list, each made of both."""
    topic = topic_of("SubmissionRecorded")

    def change(logs: list[Json]) -> list[Json]:
        places = [place for place, log in enumerate(logs) if log["topics"][0] == topic][-2:]
        if len(places) < 2:
            return logs
        first, second = (logs[place] for place in places)
        made = {places[0]: take(first, second), places[1]: take(second, first)}
        return [made.get(place, log) for place, log in enumerate(logs)]

    return lambda _world, _act: listed(change)


def in_the_place_of(one: Json, other: Json) -> Json:
    """The other Submission where this one was recorded."""
    position = ("blockNumber", "blockHash", "transactionHash", "transactionIndex", "logIndex")
    return other | {name: one[name] for name in position}


def with_the_commitment_of(one: Json, other: Json) -> Json:
    """This Solver with the other's commitment."""
    return one | {"topics": [*one["topics"][:3], *other["topics"][3:]], "data": other["data"]}


def earlier_submission(world: World, act: Act) -> Answers:
    """A Submission of somebody else, recorded before all others."""
    number = act.bounty(world)
    topic = topic_of("BountyCreated")

    def change(logs: list[Json]) -> list[Json]:
        created = [log for log in logs if number and log["topics"][:2] == [topic, word(int(number))]]
        if not created:
            return logs
        values = {"bountyId": int(str(number)), "solver": world.mallory.address, "submissionCommitment": b"\5" * 32}
        block = {"number": created[0]["blockNumber"], "hash": created[0]["blockHash"]}
        return [*logs, hub_log(block, world.hub_address, "SubmissionRecorded", values, index=9)]

    return listed(change)


def half_a_minute_late(world: World, _act: Act) -> Answers:
    """A balancer of which one node has no logs of the last half minute."""

    def altered(method: str, _params: Params, result: Any) -> Any:
        if method != "eth_getLogs":
            return result
        newest = world.ledger.time() - 30
        return [log for log in result if int(world.block(log["blockNumber"])["timestamp"], 16) <= newest]

    return Answers(altered=altered)


def paid_before(world: World, act: Act) -> Answers:
    """The payment that the act is after is in the log already."""
    number = act.bounty(world)
    if Kind.CLAIMS not in act.kinds or number is None:
        return Answers()
    kind = {"claim the award": "AwardClaimed", "claim the refund": "RefundClaimed"}.get(act.name, "GuardianFeeClaimed")
    account = world.account(act.person)
    values = {"bountyId": int(number), "amount": 1, "solver": account, "poster": account, "guardian": account}
    return invented(lambda: hub_log(world.block(), world.hub_address, kind, values))


# -------------------------------------------------------------------- terms and outcomes


def loser(world: World, act: Act) -> tuple[str, bytes]:
    """Solver and commitment of work that is not, or not yet, awarded."""
    works = world.bounties.awarded_works if act.bounty(world) == world.bounties.awarded else world.bounties.judged_works
    return works[0].solver, to_bytes(Bytes32(works[0].commitment))


def awarded_to_loser(world: World, act: Act, _found: Fields) -> Fields:
    """As after the Verdicts of two Guardians."""
    solver, commitment = loser(world, act)
    return {"outcome": 1, "reason": 1, "winner": solver, "winning_submission": commitment, "verdict_count": 2}


def vote_for_loser(world: World, act: Act) -> None:
    """Two Guardians award an undecided bounty to the first Solver, and that is final."""
    if act.bounty(world) == world.bounties.judged:
        solver, commitment = loser(world, act)
        for guardian in world.ledger.people.guardians[1:]:
            arguments = (int(world.bounties.judged), 1, solver, commitment, b"\7" * 32)
            world.hub(guardian.address, "recordVerdict", *arguments)
    world.finalize()


def revealed(at: Callable[[World, Fields], int]) -> Forger:
    """Another reveal point, and the judging as long after it as its page has it."""

    def change(world: World, _act: Act, found: Fields) -> Fields:
        moved_by = (reveal_at := at(world, found)) - found["reveal_at"]
        return {"reveal_at": reveal_at, "judging_deadline": found["judging_deadline"] + moved_by}

    return fields("getBounty", change)


def other_page(seconds: int) -> Forger:
    """Submissions until in so many seconds, all that follows from it, and a page that has it so."""

    def terms(world: World, act: Act) -> tuple[int, bytes]:
        deadline, bounty = int(world.now) + seconds, world.bounty(act.bounty(world))
        page = world.api.pages[bounty.spec_commitment] if bounty is not None else b""
        return deadline, re.sub(rb"submission_deadline: \d+", b"submission_deadline: %d" % deadline, page)

    def forger(world: World, act: Act) -> Answers:
        deadline, page = terms(world, act)

        def changed(found: Fields, _arguments: object) -> Fields:
            moved_by = deadline - found["submission_deadline"]
            later = {name: found[name] + moved_by for name in ("submission_deadline", "reveal_at", "judging_deadline")}
            return later | {"spec_commitment": to_bytes(spec_commitment(page))}

        shown = route("detail", lambda _w, _r, answer: answer | {"challenge": page.decode()})(world, act)
        return together(view(world.hub_address, "getBounty", changed), shown)

    return forger


def verdict(value: Callable[[World, Act], tuple[int, str, bytes]]) -> Forger:
    """Another Verdict on record: its kind, Solver and commitment."""
    return fields("getVerdict", lambda world, act, found: dict(zip(found, value(world, act), strict=True)))


# -------------------------------------------------------------------- what can be forged

SUBJECTS: Final = (
    subject(
        "the Hub's log of bounties",
        {Kind.FUNDS, Kind.LISTS},
        BY_ANY,
        {"hidden": hide("BountyCreated")},
        bears_on=(Fact.UNFUNDED, Fact.DONE),
    ),
    subject(
        "the Hub's log of Submissions",
        {Kind.LISTS, Kind.SEALS},
        BY_ANY,
        {
            "the first hidden": hide("SubmissionRecorded", lambda found: found[:1]),
            "the last hidden": hide("SubmissionRecorded", lambda found: found[-1:]),
            "all hidden": hide("SubmissionRecorded"),
            "in another order": exchanged(in_the_place_of),
            "of the other Solver": exchanged(with_the_commitment_of),
            "an earlier one invented": earlier_submission,
            "half a minute late": half_a_minute_late,
        },
        bears_on=(Fact.NUMBER, Fact.DONE),
    ),
    subject(
        "the Hub's log of Verdicts",
        {Kind.JUDGES},
        BY_NODE,
        {
            "hidden": hide("VerdictRecorded"),
            "the last hidden": hide("VerdictRecorded", lambda found: found[-1:]),
        },
        bears_on=(Fact.DONE,),
    ),
    subject(
        "the Hub's log of payments",
        {Kind.CLAIMS},
        BY_NODE,
        {
            "hidden": both(*map(hide, ("AwardClaimed", "RefundClaimed", "GuardianFeeClaimed"))),
            "invented": paid_before,
        },
        bears_on=(Fact.DONE,),
    ),
    subject(
        "the submission deadline",
        {Kind.SEALS, Kind.JUDGES, Kind.OPENS},
        BY_ANY,
        {
            "a day earlier": moved("getBounty", submission_deadline=-DAYS),
            "a day later": moved("getBounty", submission_deadline=DAYS),
            "passed": fields("getBounty", lambda world, _act, _found: {"submission_deadline": int(world.now) - 9}),
            "in a minute, with its page": other_page(60),
            "a month later, with its page": other_page(30 * DAYS),
        },
        bears_on=(Fact.TERMS,),
    ),
    subject(
        "the reveal point",
        {Kind.SEALS, Kind.JUDGES, Kind.OPENS},
        BY_ANY,
        {
            "a minute ago": revealed(lambda world, _found: int(world.now) - 60),
            "in a minute": revealed(lambda world, _found: int(world.now) + 60),
            "a year later": revealed(lambda _world, found: int(found["reveal_at"]) + 365 * DAYS),
            "a year later, with as long a judging": moved("getBounty", reveal_at=365 * DAYS),
        },
        bears_on=(Fact.REVEAL_POINT,),
    ),
    subject(
        "the judging deadline",
        {Kind.SEALS, Kind.JUDGES},
        BY_ANY,
        {"passed": fields("getBounty", lambda world, _act, _found: {"judging_deadline": int(world.now) - 9})},
        bears_on=(Fact.TERMS,),
    ),
    subject(
        "the outcome",
        {Kind.SEALS, Kind.JUDGES, Kind.OPENS, Kind.DELIVERS, Kind.CLAIMS},
        BY_ANY,
        {
            "awarded to the loser": fields("getBounty", awarded_to_loser),
            "no valid Submission": fixed("getBounty", outcome=2, reason=1, winner="0x" + "00" * 20),
            "still open": fixed("getBounty", outcome=0, reason=0, winner="0x" + "00" * 20),
        },
        {"voted for on a branch": vote_for_loser},
        bears_on=(Fact.WINNER,),
    ),
    subject(
        "the winner",
        {Kind.DELIVERS, Kind.CLAIMS, Kind.OPENS},
        BY_ANY,
        {
            "the other Solver": fields("getBounty", lambda world, act, _: {"winner": loser(world, act)[0]}),
            "another Submission": fields(
                "getBounty", lambda world, act, _: {"winning_submission": loser(world, act)[1]}
            ),
        },
        bears_on=(Fact.WINNER,),
    ),
    subject(
        "the Poster",
        {Kind.SEALS, Kind.OPENS, Kind.CLAIMS},
        BY_ANY,
        {"somebody else": fields("getBounty", lambda world, _act, _: {"poster": world.mallory.address})},
        bears_on=(Fact.TERMS,),
    ),
    subject(
        "what is due",
        {Kind.CLAIMS},
        BY_NODE,
        {
            "nothing": both(fixed("getBounty", award_due=0, refund_due=0), only("claimable", 0)),
            "twice as much": fields(
                "getBounty", lambda _w, _a, found: {"award_due": 2 * found["award_due"], "refund_due": ESCROW * 2}
            ),
            "paid already": fixed("getBounty", award_claimed=True, refund_claimed=True),
        },
    ),
    subject(
        "the page of the bounty",
        {Kind.SEALS, Kind.JUDGES},
        BY_ANY,
        {"another one": fixed("getBounty", spec_commitment=b"\6" * 32)},
        bears_on=(Fact.TERMS,),
    ),
    subject(
        "the Submission on record",
        {Kind.SEALS, Kind.JUDGES, Kind.OPENS, Kind.DELIVERS},
        BY_NODE,
        {
            "none": only("getSubmission", bytes(32)),
            "another": only("getSubmission", b"\5" * 32),
            "the first Solver's": fields(
                "getSubmission", lambda world, act, found: dict.fromkeys(found, loser(world, act)[1])
            ),
        },
        bears_on=(Fact.NUMBER, Fact.DONE),
    ),
    subject(
        "the Verdict on record",
        {Kind.JUDGES},
        BY_NODE,
        {
            "none": verdict(lambda _world, _act: (0, "0x" + "00" * 20, bytes(32))),
            "another": verdict(lambda world, act: (1, *loser(world, act))),
        },
        bears_on=(Fact.DONE,),
    ),
)
