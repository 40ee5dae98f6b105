"""One account's history: what it posted, submitted, judged and was paid, and its next steps."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final

from bounty_protocol.domain.lifecycle import BountyStatus, Outcome
from bounty_protocol.domain.money import AmountKind
from bounty_protocol.types import Address, BountyId, UnixSeconds
from bounty_protocol.wire.accounts import AccountRecord
from bounty_protocol.wire.bounties import BountyItem
from bounty_protocol.wire.deployment import Deployment

from service_web.api.answers import MOST_OF_PERSON, PersonRows
from service_web.api.client import ApiAbsent
from service_web.api.rows import BountyRow
from service_web.challenge import NO_TITLE, Title
from service_web.dependencies import Dependencies
from service_web.texts import gettext
from service_web.views.judging import ToJudge, to_judge
from service_web.views.stage import Stage, stage_of

SHOWN: Final = 50
"""Rows of each kind; the rest is in the subgraph."""
MAX_WAITING: Final = 50


@dataclass(frozen=True, slots=True)
class WaitingAct:
    """Something that an account can do now, or has to do in time."""

    bounty_id: BountyId
    role: str
    what: str
    until: UnixSeconds | None


@dataclass(frozen=True, slots=True)
class PersonPage:
    """Everything on the page. ``total`` counts at most 500 of a kind."""

    account: Address
    deployment: Deployment
    rows: PersonRows
    bounties: Mapping[BountyId, BountyRow]
    titles: Mapping[BountyId, Title]
    stages: Mapping[BountyId, Stage]
    waiting: tuple[WaitingAct, ...]
    is_guardian: bool
    is_cut: bool
    """More may wait for it than was looked at, or is shown."""
    now: UnixSeconds
    record: AccountRecord | None = None
    """Its record; None where the API has none."""

    def title(self, bounty_id: BountyId) -> Title:
        """Of a bounty that is named on the page."""
        return self.titles.get(bounty_id, NO_TITLE)


def person_page(deps: Dependencies, account: Address) -> PersonPage:
    """The page of an account; one that the log has nothing of is a page, too."""
    found = deps.api.person(account).value
    deployment = deps.api.deployment().value
    now = deps.clock.now()
    shown = PersonRows(
        found.posted[:SHOWN], found.submitted[:SHOWN], found.judged[:SHOWN], found.claimed[:SHOWN], found.rosters
    )
    judging = to_judge(deps, account) if found.rosters else ToJudge()
    named = found.named | {each.bounty_id for each in judging.items}
    earned = _earned(deps, deployment, account)
    known = {row.bounty_id: row for row in (*found.posted, *earned)}
    bounties = known | dict(deps.api.bounty_rows(named - set(known)))
    without_work = _without_work(deps, account, found, now)
    stages = {each: stage_of(row, now, has_submissions=each not in without_work) for each, row in bounties.items()}
    is_guardian = deployment.guardian_roster is not None and account in deployment.guardian_roster.accounts
    waiting = (*_to_put_back(deps, account), *waiting_for(account, found, bounties, stages, judging.items, now))
    kinds = (found.posted, found.submitted, found.judged, found.claimed)
    is_cut = judging.is_cut or len(waiting) > MAX_WAITING or any(len(kind) == MOST_OF_PERSON for kind in kinds)
    waiting, record = waiting[:MAX_WAITING], _record(deps, account)
    titled = dict.fromkeys([*(each.bounty_id for each in waiting), *shown.named, *known])
    titles = deps.challenges.titles([bounties[each] for each in titled if each in bounties][: 5 * SHOWN])
    return PersonPage(account, deployment, shown, bounties, titles, stages, waiting, is_guardian, is_cut, now, record)


def _to_put_back(deps: Dependencies, account: Address) -> Iterable[WaitingAct]:
    """Before everything else: without its bytes a Submission cannot win."""
    for row in deps.api.lost_by(account):
        what = gettext("The service lost your sealed work: upload it again from the machine that sealed it")
        yield WaitingAct(row.bounty_id, gettext("Solver"), what, None)


def _record(deps: Dependencies, account: Address) -> AccountRecord | None:
    try:
        return deps.api.record(account).value
    except ApiAbsent:
        return None


def _without_work(deps: Dependencies, account: Address, found: PersonRows, now: UnixSeconds) -> frozenset[BountyId]:
    """Those that it posted which end without a Submission: anybody may settle them from their deadline on."""
    if not any(
        row.status is BountyStatus.OPEN and row.submission_deadline <= now < row.judging_deadline
        for row in found.posted
    ):
        return frozenset()
    asked = {"status": "open", "poster_address": account, "sort": "deadline"}
    posted, _ = deps.api.listed(asked, MOST_OF_PERSON)
    return frozenset(each.bounty_id for each in posted if not each.active_submission_count)


def _earned(deps: Dependencies, deployment: Deployment, account: Address) -> tuple[BountyRow, ...]:
    """Of the newest awards, those whose protocol fee is the account's; looked for where new bounties name it, too."""
    policy = deployment.fee_policy
    if policy is None or policy.protocol_fee_recipient != account:
        return ()
    return tuple(row for row in deps.api.awarded().value if row.protocol_fee_recipient == account)


def waiting_for(
    account: Address,
    found: PersonRows,
    bounties: Mapping[BountyId, BountyRow],
    stages: Mapping[BountyId, Stage],
    to_judge: Iterable[BountyItem],
    now: UnixSeconds,
) -> tuple[WaitingAct, ...]:
    """An account's next steps, the most urgent first."""
    claimed = {(row.bounty_id, row.kind) for row in found.claimed}
    known_since = min(row.time for row in found.claimed) if len(found.claimed) == MOST_OF_PERSON else 0
    """What was claimed before is not among those that were read."""
    waiting = []
    judged = {row.bounty_id for row in found.judged}
    for item in to_judge:
        if item.bounty_id not in judged:
            begun = now >= item.facts.reveal_at
            what = gettext("Judge the Submissions") if begun else gettext("Judging starts at the reveal point")
            waiting.append(WaitingAct(item.bounty_id, gettext("Guardian"), what, item.facts.judging_deadline))
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
    """By whom, of those who are paid once somebody has settled it: nobody has to, so that the escrow stays there."""
    if row.poster_address == account:
        yield gettext("Poster"), gettext("Settle the bounty, then claim the refund")
    elif row.bounty_id in judged:
        yield gettext("Guardian"), gettext("Settle the bounty, then claim the fee for the Verdict")


def _claims_of(account: Address, row: BountyRow, judged: Set[BountyId]) -> Iterable[tuple[AmountKind, str, str, bool]]:
    awarded = row.outcome is Outcome.AWARDED
    is_winner = awarded and row.winner_solver_address == account
    yield AmountKind.WINNER_AWARD, gettext("Solver"), gettext("Claim the award"), is_winner
    is_refunded = row.poster_address == account and bool(row.refund)
    yield AmountKind.POSTER_REFUND, gettext("Poster"), gettext("Claim the refund"), is_refunded
    is_rewarded = bool(row.guardian_fee_each) and row.bounty_id in judged
    yield AmountKind.GUARDIAN_FEE, gettext("Guardian"), gettext("Claim the fee for the Verdict"), is_rewarded
    gets_fee = awarded and row.protocol_fee > 0 and row.protocol_fee_recipient == account
    yield AmountKind.PROTOCOL_FEE, gettext("its recipient"), gettext("Claim the protocol fee"), gets_fee


def _urgency(waiting: WaitingAct) -> tuple[int, int]:
    return (0, waiting.until) if waiting.until is not None else (1, -waiting.bounty_id)
