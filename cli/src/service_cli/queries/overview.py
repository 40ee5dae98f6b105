"""A bounty as people are shown it: from the API's item, detail or record, with what the page itself says."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.challenge.commitments import spec_commitment
from bounty_protocol.domain.challenge.page import ChallengePage, parse_challenge
from bounty_protocol.domain.lifecycle.states import Schedule
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, BountyId, Bytes32, TokenAmount, UnixSeconds
from bounty_protocol.wire.bounties import BountyDetail, BountyItem, Facts

from service_cli.ui.progress import REASONS, next_step
from service_cli.ui.text import withheld_text

_STATES: Final = {"submissions": "accepting", "reveal": "sealed", "judging": "judging", "settlement": "to settle"}
"""A bounty's state in a table, by the step it is in."""
_MOST_SUBMISSIONS: Final = 20


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A bounty in a list; ``until`` is when its state ends."""

    bounty: BountyId
    award: TokenAmount
    work: int
    state: str
    until: UnixSeconds | None
    title: str


@dataclass(frozen=True, slots=True)
class ShownGuardian:
    """A Guardian of a bounty's roster."""

    guardian: Address
    last_active: UnixSeconds | None


@dataclass(frozen=True, slots=True)
class ShownSubmission:
    """An active Submission."""

    solver: Address
    submission: Bytes32
    submitted: UnixSeconds


@dataclass(frozen=True, slots=True)
class BountyOverview:
    """A bounty on one screen."""

    title: str | None
    state: str
    winner: Address | None
    submission: Bytes32 | None
    award: TokenAmount
    escrow: TokenAmount
    guardian_fee: TokenAmount
    protocol_fee: TokenAmount
    submission_deadline: UnixSeconds
    reveal_at: UnixSeconds
    judging_deadline: UnixSeconds
    poster: Address
    quorum: str
    commitment: Bytes32
    note: str | None
    guardians: tuple[ShownGuardian, ...]
    submissions: tuple[ShownSubmission, ...]


def row_of(item: BountyItem, now: int) -> ListedRow:
    """Return the item of the API's list at the moment ``now``."""
    facts, count = item.facts, item.active_submission_count
    until = None
    if facts.outcome is None:
        step = next_step(_schedule(facts), now, has_submissions=count > 0, is_final=False)
        state, until = _STATES[step.step], step.at
    else:
        state = "no winner" if facts.winner is None else "awarded"
    absent = "withheld by the service's operator" if item.withheld else "no page of this commitment is known"
    return ListedRow(item.bounty_id, facts.award, count, state, until, item.title or absent)


def overview_of(detail: BountyDetail, now: int) -> BountyOverview:
    """Return the API's detail at the moment ``now``."""
    facts, roster, page = detail.facts, detail.guardian_roster, page_of(detail)
    return BountyOverview(
        title=None if page is None else page.title,
        state=_state(detail, now),
        winner=None if facts.winner is None else facts.winner.solver_address,
        submission=None if facts.winner is None else facts.winner.submission_commitment,
        award=facts.award,
        escrow=facts.escrow_amount,
        guardian_fee=facts.guardian_fee,
        protocol_fee=facts.protocol_fee,
        submission_deadline=facts.submission_deadline,
        reveal_at=facts.reveal_at,
        judging_deadline=facts.judging_deadline,
        poster=facts.poster_address,
        quorum=f"{roster.quorum} of {len(roster.members)} Guardians must agree",
        commitment=facts.spec_commitment,
        note=" ".join(_notes(detail, page)) or None,
        guardians=tuple(ShownGuardian(one.guardian_address, one.last_active_at or None) for one in roster.members),
        submissions=tuple(
            ShownSubmission(one.solver_address, one.submission_commitment, one.submitted_at)
            for one in detail.active_submissions[:_MOST_SUBMISSIONS]
        ),
    )


def page_of(detail: BountyDetail) -> ChallengePage | None:
    """Return the page, if it hashes to the commitment and has the form of one."""
    try:
        if detail.challenge is None or spec_commitment(detail.challenge.encode()) != detail.facts.spec_commitment:
            return None
        return parse_challenge(detail.challenge.encode())
    except (ServiceError, UnicodeEncodeError):
        return None


def _schedule(facts: Facts) -> Schedule:
    return Schedule(facts.submission_deadline, facts.reveal_at, facts.judging_deadline)


def _state(detail: BountyDetail, now: int) -> str:
    facts = detail.facts
    if facts.outcome is None:
        has_submissions = detail.active_submission_count > 0
        step = next_step(_schedule(facts), now, has_submissions=has_submissions, is_final=False)
        return f"open; {step.text(now)}"
    reason = "" if facts.settlement_reason is None else f": {REASONS[facts.settlement_reason.value]}"
    return f"final, {'without a winner' if facts.winner is None else 'awarded'}{reason}"


def _notes(detail: BountyDetail, page: ChallengePage | None) -> Iterator[str]:
    """Yield the reasons why the page cannot be trusted as the terms."""
    if detail.withheld is not None:
        yield f"The page is {withheld_text(detail.withheld)}. Compare your copy: service-cli spec-commitment FILE."
    elif detail.challenge is None:
        yield "The page is not available, or not the one that was committed."
    elif page is None:
        yield "The page is not the one that was committed, or not in the form of a page; it is shown as received."
    elif detail.challenge_terms is not None and not detail.challenge_terms.matches:
        yield "The page's terms differ from the chain's; those on chain count."
    if (more := detail.active_submission_count - _MOST_SUBMISSIONS) > 0:
        yield f"{more} more Submissions are listed with --json."
