"""One account's history: what it posted, submitted, judged and was paid, and its next steps."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.lifecycle.states import BountyStatus, Outcome
from bounty_protocol.domain.money.amounts import AmountKind
from bounty_protocol.types import Address, BountyId, UnixSeconds
from bounty_protocol.wire.accounts import AccountRecord
from bounty_protocol.wire.deployment import TokenDescription
from service_common.db import hub_index as t
from service_common.db.hub_reads import Head, read_current_roster, read_fee_policy
from sqlalchemy import Connection, exists, or_, select

from service_api.bounties.show_account import account_record
from service_api.pages.rows import (
    BOUNTY,
    CLAIM,
    MEMBER,
    SUBMISSION,
    VERDICT,
    BountyRow,
    ClaimRow,
    SubmissionRow,
    VerdictRow,
    read_bounties,
    read_bounties_by_id,
    read_lost,
    read_rows,
)
from service_api.pages.sources import PageSources
from service_api.pages.stage import Stage, stage_of
from service_api.pages.titles import NO_TITLE, Title

MOST_OF_PERSON: Final = 500
"""Rows of each kind of an account that are read, the newest."""
MOST_BEGUN: Final = 500
MOST_COMING: Final = 100
"""Bounties that a Guardian can judge now, and soon, of which its page tells."""
MOST_AWARDS: Final = 100
SHOWN: Final = 50
"""Rows of each kind; the rest is in the subgraph."""
MAX_WAITING: Final = 50


@dataclass(frozen=True, slots=True)
class PersonRows:
    """An account's events, the newest first."""

    posted: tuple[BountyRow, ...]
    submitted: tuple[SubmissionRow, ...]
    judged: tuple[VerdictRow, ...]
    claimed: tuple[ClaimRow, ...]

    @property
    def named(self) -> frozenset[BountyId]:
        """The bounties it submitted to, judged or was paid for."""
        submitted = frozenset(row.bounty_id for row in self.submitted)
        return submitted | {row.bounty_id for row in self.judged} | {row.bounty_id for row in self.claimed}


@dataclass(frozen=True, slots=True)
class WaitingAct:
    """Something that an account can do now, or has to do in time."""

    bounty_id: BountyId
    role: str
    what: str
    until: UnixSeconds | None


@dataclass(frozen=True, slots=True)
class ToJudge:
    """Open bounties that pinned a roster with a Guardian, whether or not it has judged them: the ``begun`` ones can be
    judged, the ``coming`` ones soon. One without Submissions is not judged."""

    begun: frozenset[BountyId] = frozenset()
    coming: frozenset[BountyId] = frozenset()
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class PersonPage:
    """Everything on the page. ``total`` counts at most 500 of a kind."""

    head: Head
    account: Address
    token: TokenDescription
    rows: PersonRows
    titles: Mapping[BountyId, Title]
    stages: Mapping[BountyId, Stage]
    waiting: tuple[WaitingAct, ...]
    is_guardian: bool
    is_cut: bool
    """More may wait for it than was looked at, or is shown."""
    now: UnixSeconds
    record: AccountRecord

    def title(self, bounty_id: BountyId) -> Title:
        """The title of a bounty that is named on the page."""
        return self.titles.get(bounty_id, NO_TITLE)


def person_page(deps: PageSources, account: Address) -> PersonPage:
    """Return the page of an account, even of one that is not in the log."""
    now = deps.clock.now()
    with deps.facts.open() as facts:
        connection, head = facts.connection, facts.head
        found = read_person(connection, account)
        judging = _read_to_judge(connection, account, now)
        known = {row.bounty_id: row for row in (*found.posted, *_read_fees(connection, account))}
        named = found.named | judging.begun | judging.coming
        bounties = known | dict(read_bounties_by_id(connection, named - set(known)))
        without_work = _read_without_work(connection, account, head)
        lost = read_lost(connection, SUBMISSION.solver_address == account)
        record = account_record(connection, account)
        roster = read_current_roster(connection, head.block_time)
    stages = {each: stage_of(row, now, has_submissions=each not in without_work) for each, row in bounties.items()}
    waiting = (*_to_put_back(lost), *waiting_for(account, found, bounties, stages, judging))
    kinds = (found.posted, found.submitted, found.judged, found.claimed)
    return PersonPage(
        head=head,
        account=account,
        token=deps.constants.token(),
        rows=PersonRows(found.posted[:SHOWN], found.submitted[:SHOWN], found.judged[:SHOWN], found.claimed[:SHOWN]),
        titles={each: row.title for each, row in bounties.items()},
        stages=stages,
        waiting=waiting[:MAX_WAITING],
        is_guardian=roster is not None and account in roster.accounts,
        is_cut=judging.is_cut or len(waiting) > MAX_WAITING or any(len(kind) == MOST_OF_PERSON for kind in kinds),
        now=now,
        record=record,
    )


def read_person(connection: Connection, account: Address) -> PersonRows:
    """Return everything about one account: the newest ``MOST_OF_PERSON`` of each kind."""
    most = MOST_OF_PERSON
    return PersonRows(
        read_bounties(connection, BOUNTY.poster_address == account, most=most),
        read_rows(connection, SubmissionRow, SUBMISSION.solver_address == account, most=most),
        read_rows(connection, VerdictRow, VERDICT.guardian_address == account, most=most),
        read_rows(connection, ClaimRow, CLAIM.recipient == account, most=most),
    )


def _read_to_judge(connection: Connection, guardian: Address, now: UnixSeconds) -> ToJudge:
    """Read the bounties that can be judged now or soon, the earliest deadline first. Anyone can fill a
    list of the newest ones for the price of gas.
    """
    o, b, s = t.open_bounties.c, t.bounties.c, t.submissions.c
    versions = connection.execute(select(MEMBER.version).where(MEMBER.guardian_address == guardian)).scalars().all()
    if not versions:
        return ToJudge()
    has_work = or_(exists().where(s.bounty_id == o.bounty_id), o.submission_deadline > now)
    pinned = select(o.bounty_id).join(t.bounties, b.bounty_id == o.bounty_id).where(b.roster_version.in_(versions))
    ordered = pinned.where(o.judging_deadline > now, has_work).order_by(o.submission_deadline, o.bounty_id)
    begun = connection.execute(ordered.where(o.reveal_at <= now).limit(MOST_BEGUN + 1)).scalars().all()
    coming = connection.execute(ordered.where(o.reveal_at > now).limit(MOST_COMING + 1)).scalars().all()
    is_cut = len(begun) > MOST_BEGUN or len(coming) > MOST_COMING
    return ToJudge(frozenset(begun[:MOST_BEGUN]), frozenset(coming[:MOST_COMING]), is_cut)


def _read_without_work(connection: Connection, account: Address, head: Head) -> frozenset[BountyId]:
    """Read the account's bounties that end without a Submission: anyone may settle them after their deadline."""
    o, b, s = t.open_bounties.c, t.bounties.c, t.submissions.c
    posted = select(o.bounty_id).join(t.bounties, b.bounty_id == o.bounty_id).where(b.poster == account)
    is_over = (o.submission_deadline <= head.block_time) & ~exists().where(s.bounty_id == o.bounty_id)
    return frozenset(connection.execute(posted.where(is_over).limit(MOST_OF_PERSON)).scalars())


def _read_fees(connection: Connection, account: Address) -> tuple[BountyRow, ...]:
    """Read the newest awards whose protocol fee belongs to the account, if it is still the fee recipient."""
    policy = read_fee_policy(connection)
    if policy is None or policy.recipient != account:
        return ()
    is_awarded = BOUNTY.outcome_number == Outcome.AWARDED.number
    awarded = read_bounties(connection, is_awarded, most=MOST_AWARDS)
    return tuple(row for row in awarded if row.protocol_fee_recipient == account)


def _to_put_back(lost: Iterable[SubmissionRow]) -> Iterable[WaitingAct]:
    """Return the Submissions to upload again; they come first, since a Submission cannot win without its bytes."""
    for row in lost:
        what = "The service lost your sealed work: upload it again from the machine that sealed it"
        yield WaitingAct(row.bounty_id, "Solver", what, None)


def waiting_for(
    account: Address,
    found: PersonRows,
    bounties: Mapping[BountyId, BountyRow],
    stages: Mapping[BountyId, Stage],
    to_judge: ToJudge,
) -> tuple[WaitingAct, ...]:
    """Return an account's next steps, the most urgent first."""
    claimed = {(row.bounty_id, row.kind) for row in found.claimed}
    known_since = min(row.time for row in found.claimed) if len(found.claimed) == MOST_OF_PERSON else 0
    """What was claimed before is not among those that were read."""
    waiting = []
    judged = {row.bounty_id for row in found.judged}
    for each in (to_judge.begun | to_judge.coming) - judged:
        what = "Judge the Submissions" if each in to_judge.begun else "Judge the Submissions once they can be opened"
        waiting.append(WaitingAct(each, "Guardian", what, bounties[each].judging_deadline))
    for each, row in bounties.items():
        if stages[each] is Stage.DUE:
            waiting += [WaitingAct(each, role, what, None) for role, what in _to_settle(account, row, judged)]
        if row.status is BountyStatus.OPEN or (row.settled_at or known_since) < known_since:
            continue
        waiting += [
            WaitingAct(each, role, what, None)
            for kind, role, what, is_due in _claims_of(account, row, judged)
            if is_due and (each, kind) not in claimed
        ]
    return tuple(sorted(waiting, key=_urgency))


def _to_settle(account: Address, row: BountyRow, judged: Set[BountyId]) -> Iterable[tuple[str, str]]:
    """Return who is paid once somebody settles the bounty: nobody has to, so the escrow waits until then."""
    if row.poster_address == account:
        yield "Poster", "Settle the bounty, then claim the refund"
    elif row.bounty_id in judged:
        yield "Guardian", "Settle the bounty, then claim the fee for the Verdict"


def _claims_of(account: Address, row: BountyRow, judged: Set[BountyId]) -> Iterable[tuple[AmountKind, str, str, bool]]:
    awarded = row.outcome is Outcome.AWARDED
    is_winner = awarded and row.winner_solver_address == account
    yield AmountKind.WINNER_AWARD, "Solver", "Claim the award", is_winner
    is_refunded = row.poster_address == account and bool(row.refund)
    yield AmountKind.POSTER_REFUND, "Poster", "Claim the refund", is_refunded
    is_rewarded = bool(row.guardian_fee_each) and row.bounty_id in judged
    yield AmountKind.GUARDIAN_FEE, "Guardian", "Claim the fee for the Verdict", is_rewarded
    gets_fee = awarded and row.protocol_fee > 0 and row.protocol_fee_recipient == account
    yield AmountKind.PROTOCOL_FEE, "its recipient", "Claim the protocol fee", gets_fee


def _urgency(waiting: WaitingAct) -> tuple[int, int]:
    return (0, waiting.until) if waiting.until is not None else (1, -waiting.bounty_id)
