"""The commands that spend, judge, seal, open, hand keys over or are paid: whose they are, and what they achieve.

What is achieved is read from the true chain, or from the files that were opened: never from what the command printed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.chain.events import decode_log, parse_log
from bounty_protocol.domain.challenge.commitments import report_commitment, spec_commitment
from bounty_protocol.domain.lifecycle.hub_events import (
    AwardClaimed,
    BountyCreated,
    GuardianFeeClaimed,
    HubEvent,
    RefundClaimed,
    VerdictRecorded,
)
from bounty_protocol.types import ZERO_BYTES32

from tests.cli.plays.sealed import find_sealed, work_for_guardians
from tests.cli.plays.world import DELEGATED, World
from tests.cli.submitted import files_below
from tests.cli.terminal import Terminal


class Kind(StrEnum):
    """What an act does, and so which subjects it may rest on."""

    SENDS = "sends a transaction"
    FUNDS = "funds a page"
    AUTHORIZES = "signs an authorization of the token"
    ALLOWS = "gives an allowance"
    SEALS = "seals work"
    LISTS = "reads a bounty's list"
    JUDGES = "records a Verdict"
    OPENS = "opens work"
    DELIVERS = "delivers a content key"
    CLAIMS = "is paid"
    USES_API = "calls the API"
    ELSEWHERE = "was done by another machine"


@dataclass(frozen=True, slots=True)
class Act:
    """A command of one person. ``done`` is the event with which it ends well."""

    name: str
    person: str
    words: Callable[[World], tuple[str, ...]]
    done: str
    kinds: frozenset[Kind]
    achieved: Callable[[World, Terminal], bool]
    prepare: Callable[[World, Terminal], object] = lambda _world, _home: None
    """Honest steps before the first run."""
    first: Callable[[World], tuple[str, ...]] | None = None
    """A command that is played before, under the first run's answers."""
    bounty: Callable[[World], str | None] = lambda _world: None

    def __str__(self) -> str:
        return self.name


def hub_events(world: World) -> list[HubEvent]:
    """Everything that the Hub has logged on the true chain."""
    rpc = world.rpc
    logs = rpc.call("eth_getLogs", {"address": world.hub_address, "fromBlock": "0x0", "toBlock": "latest"})
    assert isinstance(logs, list)
    return [decode_log(parse_log(log)) for log in logs]


def creations(world: World) -> list[BountyCreated]:
    """The Poster's bounties on the page that is funded in a play."""
    page = spec_commitment((world.root / "first" / "poster" / "page.md").read_bytes())
    found = [one for one in hub_events(world) if isinstance(one, BountyCreated)]
    return [one for one in found if (one.poster, one.spec_commitment) == (world.ledger.people.poster.address, page)]


def _is_funded(world: World, _home: Terminal) -> bool:
    return bool(creations(world))


def _is_recorded(world: World, home: Terminal) -> bool:
    """What the Hub has of the Solver is opened by the Guardians, and is the work as it is now."""
    recorded = world.ledger.submission(int(world.bounties.accepting), world.ledger.people.solvers[0].address)
    sealed = None if recorded == ZERO_BYTES32 else find_sealed(world, home, recorded)
    return sealed is not None and work_for_guardians(world, sealed) == files_below(home.home / "work")


def verdicts(world: World, guardian: str) -> list[VerdictRecorded]:
    """Every Verdict of a Guardian on the bounty that is judged in a play, in order."""
    bounty = int(world.bounties.judged)
    found = [one for one in hub_events(world) if isinstance(one, VerdictRecorded)]
    return [one for one in found if (one.bounty_id, one.guardian) == (bounty, guardian)]


def _judged(kind: str) -> Callable[[World, Terminal], bool]:
    """The Guardian's last Verdict on chain is of this kind, and anyone can read it; the judge sees what it names."""

    def achieved(world: World, _home: Terminal) -> bool:
        found = verdicts(world, world.ledger.people.guardians[0].address)
        return bool(found) and found[-1].kind.value == kind and _is_published(world, found[-1])

    return achieved


def _is_published(world: World, found: VerdictRecorded) -> bool:
    written = world.api.verdicts.get(found.report_commitment)
    return written is not None and report_commitment(written) == found.report_commitment


def _is_open(world: World, home: Terminal) -> bool:
    below = home.home / "submissions" / world.bounties.judged
    return all(files_below(below / work.commitment) == work.files for work in world.bounties.judged_works)


def _is_winner_open(world: World, home: Terminal) -> bool:
    winner = world.bounties.awarded_works[1]
    below = home.home / "winning-submission" / world.bounties.awarded / winner.commitment
    return files_below(below) == winner.files


def _is_delivered(world: World, _home: Terminal) -> bool:
    return set(world.api.wraps) == {world.bounties.awarded_works[1].commitment}


def _is_paid(kind: type[HubEvent], bounty: Callable[[World], str]) -> Callable[[World, Terminal], bool]:
    def achieved(world: World, _home: Terminal) -> bool:
        return len([one for one in hub_events(world) if isinstance(one, kind) and _of(one) == bounty(world)]) == 1

    return achieved


def _of(event: HubEvent) -> str:
    return str(getattr(event, "bounty_id", ""))


def _has_verdict_before(world: World, home: Terminal) -> None:
    words = ("guardian:verdict", world.bounties.judged, "no_valid_submission", "--unopened", "body.md")
    assert home.run(*words).last["event"] == "guardian_verdict.recorded"
    (home.home / "body.md").write_text("It was read once more.\n")
    world.finalize()


def _delegate(world: World, _home: Terminal) -> None:
    world.rpc.call("anvil_setCode", world.ledger.people.poster.address, DELEGATED)
    world.finalize()


def _have_funded(world: World, home: Terminal) -> None:
    """The same page, from another machine of the Poster."""
    other = world.home("poster+other")
    (other.home / "page.md").write_bytes((home.home / "page.md").read_bytes())
    assert other.run("poster:publish-fund", "page.md").last["event"] == "publish_fund.bounty_created"
    world.finalize()


def _hold_key(world: World, _home: Terminal) -> None:
    world.api.wraps.update(world.bounties.wrapped_key)


def _have_recorded(world: World, home: Terminal) -> None:
    """One Submission is recorded, and the files have changed since."""
    assert home.run("solver:submit", world.bounties.accepting, "work").last["event"] == "submit.submission_recorded"
    (home.home / "work" / "main.py").write_text((home.home / "work" / "main.py").read_text() + "# changed\n")
    world.finalize()


_ON_CHAIN: Final = frozenset({Kind.SENDS})
_API: Final = frozenset({Kind.USES_API})
_JUDGES: Final = _ON_CHAIN | _API | {Kind.JUDGES}

ACTS: Final[Mapping[str, Act]] = {
    act.name: act
    for act in (
        Act(
            "fund",
            "poster",
            lambda _world: ("poster:publish-fund", "page.md"),
            "publish_fund.bounty_created",
            _ON_CHAIN | _API | {Kind.FUNDS, Kind.AUTHORIZES},
            _is_funded,
        ),
        Act(
            "fund by allowance",
            "poster",
            lambda _world: ("poster:publish-fund", "page.md"),
            "publish_fund.bounty_created",
            _ON_CHAIN | _API | {Kind.FUNDS, Kind.ALLOWS},
            _is_funded,
            prepare=_delegate,
        ),
        Act(
            "fund what another machine funded",
            "poster",
            lambda _world: ("poster:publish-fund", "page.md"),
            "publish_fund.bounty_created",
            _ON_CHAIN | _API | {Kind.FUNDS, Kind.AUTHORIZES, Kind.ELSEWHERE},
            _is_funded,
            prepare=_have_funded,
        ),
        Act(
            "submit",
            "solver-1",
            lambda world: ("solver:submit", world.bounties.accepting, "work"),
            "submit.submission_recorded",
            _ON_CHAIN | _API | {Kind.SEALS},
            _is_recorded,
            bounty=lambda world: world.bounties.accepting,
        ),
        Act(
            "submit without the API",
            "solver-1",
            lambda world: ("solver:submit", "--without-api", world.bounties.accepting, "work"),
            "submit.submission_recorded",
            _ON_CHAIN | {Kind.SEALS},
            _is_recorded,
            bounty=lambda world: world.bounties.accepting,
        ),
        Act(
            "submit changed files",
            "solver-1",
            lambda world: ("solver:submit", "--replace", world.bounties.accepting, "work"),
            "submit.submission_recorded",
            _ON_CHAIN | _API | {Kind.SEALS},
            _is_recorded,
            prepare=_have_recorded,
            bounty=lambda world: world.bounties.accepting,
        ),
        Act(
            "open",
            "guardian-1+new",
            lambda world: ("guardian:open", world.bounties.judged),
            "guardian_open.finished",
            _API | {Kind.OPENS, Kind.LISTS},
            _is_open,
            bounty=lambda world: world.bounties.judged,
        ),
        Act(
            "open and award",
            "guardian-1+new",
            lambda world: (
                *("guardian:verdict", world.bounties.judged, "awarded"),
                *("--submission", world.bounties.judged_works[0].commitment[:18], "body.md"),
            ),
            "guardian_verdict.recorded",
            _JUDGES | {Kind.LISTS, Kind.OPENS},
            _judged("awarded"),
            first=lambda world: ("guardian:open", world.bounties.judged),
            bounty=lambda world: world.bounties.judged,
        ),
        Act(
            "award by name",
            "guardian-1",
            lambda world: (
                *("guardian:verdict", world.bounties.judged, "awarded", "--unopened"),
                *(world.bounties.judged_works[0].solver, world.bounties.judged_works[0].commitment, "body.md"),
            ),
            "guardian_verdict.recorded",
            _JUDGES,
            _judged("awarded"),
            bounty=lambda world: world.bounties.judged,
        ),
        Act(
            "award nothing",
            "guardian-1",
            lambda world: ("guardian:verdict", world.bounties.judged, "no_valid_submission", "--unopened", "body.md"),
            "guardian_verdict.recorded",
            _JUDGES,
            _judged("no_valid_submission"),
            bounty=lambda world: world.bounties.judged,
        ),
        Act(
            "replace a Verdict",
            "guardian-1",
            lambda world: (
                *("guardian:verdict", "--replace", world.bounties.judged, "awarded", "--unopened"),
                *(world.bounties.judged_works[0].solver, world.bounties.judged_works[0].commitment, "body.md"),
            ),
            "guardian_verdict.recorded",
            _JUDGES,
            _judged("awarded"),
            prepare=_has_verdict_before,
            bounty=lambda world: world.bounties.judged,
        ),
        Act(
            "deliver the key",
            "guardian-1",
            lambda world: ("guardian:deliver-key", world.bounties.awarded),
            "guardian_deliver_key.stored",
            _API | {Kind.DELIVERS, Kind.OPENS},
            _is_delivered,
            bounty=lambda world: world.bounties.awarded,
        ),
        Act(
            "deliver the key of undecided work",
            "guardian-1",
            lambda world: ("guardian:deliver-key", world.bounties.judged),
            "guardian_deliver_key.refused",
            _API | {Kind.DELIVERS, Kind.OPENS},
            lambda world, _home: not world.api.wraps,
            bounty=lambda world: world.bounties.judged,
        ),
        Act(
            "open the winning work",
            "poster",
            lambda world: ("poster:open-winning-submission", world.bounties.awarded),
            "open_winning_submission.artifact_opened",
            _API | {Kind.OPENS},
            _is_winner_open,
            prepare=_hold_key,
            bounty=lambda world: world.bounties.awarded,
        ),
        Act(
            "claim the award",
            "solver-2",
            lambda world: ("claim", world.bounties.awarded),
            "claim.claimed",
            _ON_CHAIN | {Kind.CLAIMS},
            _is_paid(AwardClaimed, lambda world: world.bounties.awarded),
            bounty=lambda world: world.bounties.awarded,
        ),
        Act(
            "claim the refund",
            "poster",
            lambda world: ("claim", world.bounties.refundable),
            "claim.claimed",
            _ON_CHAIN | {Kind.CLAIMS},
            _is_paid(RefundClaimed, lambda world: world.bounties.refundable),
            bounty=lambda world: world.bounties.refundable,
        ),
        Act(
            "claim the Guardian fee",
            "guardian-1",
            lambda world: ("guardian:claim-fee", world.bounties.awarded),
            "guardian_claim_fee.claimed",
            _ON_CHAIN | {Kind.CLAIMS},
            _is_paid(GuardianFeeClaimed, lambda world: world.bounties.awarded),
            bounty=lambda world: world.bounties.awarded,
        ),
    )
}
