"""The Guardians of a deployment: who they are now and were before, and how they have judged so far."""

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import Final

from bounty_protocol.domain.lifecycle.roster import Roster, RosterMember
from bounty_protocol.domain.lifecycle.states import SettlementReason
from bounty_protocol.types import Address, BountyId, UnixSeconds
from service_common.db.hub_reads import Head, read_current_roster
from sqlalchemy import Connection

from service_api.pages.rows import (
    IS_DECIDED,
    MEMBER,
    MOST_ROWS,
    ROSTER,
    DecidedRow,
    MemberRow,
    RosterRow,
    VerdictRow,
    read_rows,
)
from service_api.pages.sources import PageSources

MOST_VERSIONS: Final = 100
SILENT_SECONDS: Final = 14 * 86_400
"""After so long without a sign of life a Guardian may be gone."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a Guardian has judged: bounties with Submissions that are decided, and that pinned a roster with it."""

    judged: int
    missed: int
    typical_seconds: int | None
    """From the reveal point to the Verdict, the median."""


@dataclass(frozen=True, slots=True)
class Guardian:
    """A member of the current roster. ``is_silent``: no sign of life for long, or none at all."""

    member: RosterMember
    conduct: Conduct
    is_silent: bool


@dataclass(frozen=True, slots=True)
class PublishedRoster:
    """A version of the roster with its Guardians."""

    row: RosterRow
    accounts: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class GuardiansPage:
    """Everything on the page. ``is_cut``: there are more decided bounties than were counted."""

    head: Head
    roster: Roster | None
    guardians: tuple[Guardian, ...]
    versions: tuple[PublishedRoster, ...]
    decided: int
    is_cut: bool
    now: UnixSeconds


def guardians_page(deps: PageSources) -> GuardiansPage:
    """Return the page."""
    now = deps.clock.now()
    with deps.facts.open() as facts:
        connection = facts.connection
        roster = read_current_roster(connection, facts.head.block_time)
        versions = _read_versions(connection)
        decided = read_rows(connection, DecidedRow, IS_DECIDED, most=MOST_ROWS)
        verdicts = read_rows(connection, VerdictRow, most=MOST_ROWS)
    is_cut = len(decided) >= MOST_ROWS or len(verdicts) >= MOST_ROWS
    counted = _counted(decided, verdicts) if is_cut else decided
    found = conduct_of(versions, counted, verdicts)
    guardians = tuple(
        Guardian(each, found.get(each.guardian_address, Conduct(0, 0, None)), _is_silent(each, now))
        for each in (roster.members if roster else ())
    )
    ordered = tuple(sorted(guardians, key=_by_conduct))
    return GuardiansPage(facts.head, roster, ordered, versions, len(counted), is_cut, now)


def _read_versions(connection: Connection) -> tuple[PublishedRoster, ...]:
    """Read the newest ``MOST_VERSIONS`` rosters, the newest first."""
    rows = read_rows(connection, RosterRow, most=MOST_VERSIONS, order=ROSTER.version.desc())
    if not rows:
        return ()
    of_these = MEMBER.version.in_([row.version for row in rows])
    members = read_rows(connection, MemberRow, of_these, most=MOST_VERSIONS * MOST_ROWS, order=MEMBER.position.asc())
    return tuple(
        PublishedRoster(row, tuple(each.guardian_address for each in members if each.version == row.version))
        for row in rows
    )


def _by_conduct(guardian: Guardian) -> tuple[int, int, str]:
    """Order by the fewest missed Verdicts, then by the most recent activity."""
    return guardian.conduct.missed, -(guardian.member.last_active_at or 0), guardian.member.guardian_address


def _counted(decided: tuple[DecidedRow, ...], verdicts: tuple[VerdictRow, ...]) -> tuple[DecidedRow, ...]:
    """Return the bounties whose Verdicts are all among these: those created after the oldest of them."""
    oldest = min((each.time for each in verdicts), default=0)
    return tuple(each for each in decided if len(verdicts) < MOST_ROWS or each.time >= oldest)


def conduct_of(
    versions: tuple[PublishedRoster, ...], decided: tuple[DecidedRow, ...], verdicts: tuple[VerdictRow, ...]
) -> dict[Address, Conduct]:
    """Count by Guardian. A bounty that a quorum decided without a Guardian's Verdict also counts as missed by that
    Guardian.
    """
    members = {each.row.version: each.accounts for each in versions}
    given: dict[BountyId, dict[Address, VerdictRow]] = defaultdict(dict)
    for verdict in verdicts:
        given[verdict.bounty_id][verdict.guardian_address] = verdict
    judged, missed = defaultdict[Address, list[int]](list), defaultdict[Address, int](int)
    for bounty in decided:
        if bounty.settlement_reason is SettlementReason.NO_SUBMISSIONS:
            continue
        for account in members.get(bounty.roster_version, ()):
            if (found := given[bounty.bounty_id].get(account)) is not None:
                judged[account].append(max(0, found.time - bounty.reveal_at))
            else:
                missed[account] += 1
    return {
        account: Conduct(
            len(judged[account]), missed[account], round(median(judged[account])) if judged[account] else None
        )
        for account in {*judged, *missed}
    }


def _is_silent(member: RosterMember, now: UnixSeconds) -> bool:
    return member.last_active_at is None or now - member.last_active_at > SILENT_SECONDS
