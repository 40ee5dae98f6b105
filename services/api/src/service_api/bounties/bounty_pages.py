"""What the API shows of one bounty, in one statement: once to the database and back, and one moment of it."""

from dataclasses import dataclass
from typing import Any, Final

from bounty_protocol.domain.lifecycle.bounty import Bounty
from bounty_protocol.domain.lifecycle.hub_events import Logged, SubmissionRecorded
from bounty_protocol.domain.lifecycle.roster import Roster, RosterMember
from bounty_protocol.types import Address, BountyId, Bytes32
from bounty_protocol.wire.withheld import Withheld
from service_common.db import app
from service_common.db import hub_index as t
from service_common.db.hub_facts import FactSource
from service_common.db.hub_reads import (
    ENDING_COLUMNS,
    HEAD_COLUMNS,
    Head,
    active_submissions,
    bounty_of_row,
    head_of_row,
    last_active,
    logged,
)
from sqlalchemy import Connection, RowMapping, ScalarSelect, bindparam, func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by

from service_api.moderation.texts import page_notice, withheld_of

MAX_LISTED_SUBMISSIONS: Final = 1_000
_HEAD: Final = "head_"


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A VerificationRecord as it was derived before, and the block of the ending that it is of."""

    content: bytes
    block_hash: Bytes32


@dataclass(frozen=True, slots=True)
class IndexedBounty:
    """A bounty as far as the copy knows it. ``challenge`` is what is kept as its page, whatever that hashes to."""

    bounty: Bounty
    roster: Roster | None
    submissions: tuple[Logged[SubmissionRecorded], ...]
    """Each Solver's current one, the oldest first, at most ``MAX_LISTED_SUBMISSIONS``."""
    submission_count: int
    challenge: bytes | None
    record: KeptRecord | None
    withheld: Withheld | None
    """Why the page is not shown, where it is not."""


def read_bounty_page(connection: Connection, source: FactSource, bounty_id: BountyId) -> tuple[Head, IndexedBounty]:
    """Read the position of the copy, and the bounty; 404 if it has none, 503 if it cannot say."""
    asked = {"chain_id": source.chain_id, "bounty_id": bounty_id}
    found = connection.execute(_STATEMENT, asked).mappings().first()
    head = source.require_readable(None if found is None else head_of_row(found, _HEAD))
    if found is None or found["bounty_id"] is None:
        raise source.no_such_bounty(head)
    return head, _page_of_row(found)


def _page_of_row(row: RowMapping) -> IndexedBounty:
    bounty = bounty_of_row(row)
    terms = bounty.terms
    roster = None
    if row["roster_quorum"] is not None:
        members = tuple(RosterMember(Address(who), Bytes32(key), at) for who, key, at in row["members"] or ())
        roster = Roster(terms.roster_version, Bytes32(row["roster_hash"]), row["roster_quorum"], members)
    record = None
    if row["record_content"] is not None:
        record = KeptRecord(bytes(row["record_content"]), Bytes32(row["record_block_hash"]))
    return IndexedBounty(
        bounty,
        roster,
        tuple(logged(SubmissionRecorded, each) for each in row["submissions"] or ()),
        row["submission_count"],
        None if row["page_content"] is None else bytes(row["page_content"]),
        record,
        withheld_of(row["withheld"]),
    )


def _submissions() -> ScalarSelect[Any]:
    listed = active_submissions(bindparam("bounty_id"), MAX_LISTED_SUBMISSIONS).subquery("listed")
    return select(func.json_agg(listed.table_valued())).scalar_subquery()


def _submission_count() -> ScalarSelect[int]:
    s = t.submissions.c
    return select(func.count(s.solver.distinct())).where(s.bounty_id == bindparam("bounty_id")).scalar_subquery()


def _members() -> ScalarSelect[Any]:
    """Select account, key and last activity of each Guardian, in the roster's order."""
    m = t.roster_members.c
    member = func.json_build_array(m.guardian, m.encryption_public_key, last_active(m.guardian))
    of_the_roster = m.version == t.rosters.c.version
    ordered = func.json_agg(aggregate_order_by(member, m.position))
    return select(ordered).where(of_the_roster).correlate(t.rosters).scalar_subquery()


_B: Final = t.bounties.c
_STATEMENT: Final = (
    select(
        *(column.label(f"{_HEAD}{column.name}") for column in HEAD_COLUMNS),
        *_B,
        *ENDING_COLUMNS,
        t.rosters.c.guardian_roster_hash.label("roster_hash"),
        t.rosters.c.quorum.label("roster_quorum"),
        _members().label("members"),
        _submissions().label("submissions"),
        _submission_count().label("submission_count"),
        app.challenge_pages.c.content.label("page_content"),
        app.verification_records.c.content.label("record_content"),
        app.verification_records.c.block_hash.label("record_block_hash"),
        page_notice(_B.spec_commitment, _B.poster).label("withheld"),
    )
    .select_from(
        t.head.outerjoin(t.bounties, _B.bounty_id == bindparam("bounty_id"))
        .outerjoin(t.finalizations, t.finalizations.c.bounty_id == _B.bounty_id)
        .outerjoin(t.rosters, t.rosters.c.version == _B.roster_version)
        .outerjoin(app.challenge_pages, app.challenge_pages.c.spec_commitment == _B.spec_commitment)
        .outerjoin(app.verification_records, app.verification_records.c.bounty_id == _B.bounty_id)
    )
    .where(t.head.c.chain_id == bindparam("chain_id"))
)
