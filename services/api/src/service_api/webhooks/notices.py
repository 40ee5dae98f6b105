"""Notices about sealed work, as webhooks are sent them: each alone, in order, under an id that follows from its number.

They are no facts of the chain: the service states what its storage has. Who hears of a bounty hears of its sealed work.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bounty_protocol.types import Address, BountyId, Bytes32, UnixSeconds
from service_common.db import app as t
from service_common.db.app import WorkNotice
from sqlalchemy import Connection, RowMapping, select

from service_api.webhooks.subjects import Concerned, Subject


@dataclass(frozen=True, slots=True)
class SealedWorkNotice:
    """Work that was found lost, or there again."""

    number: int
    kind: WorkNotice
    bounty_id: BountyId
    solver: Address
    submission_commitment: Bytes32
    at: UnixSeconds


@dataclass(frozen=True, slots=True)
class NextNotice:
    """The next notice that a webhook hears, if there is one, and up to which number it has heard after it."""

    notice: SealedWorkNotice | None
    after: int


def read_notices(connection: Connection, after: int, limit: int) -> list[SealedWorkNotice]:
    """Those after a number, in order."""
    c = t.work_notices.c
    rows = connection.execute(select(t.work_notices).where(c.number > after).order_by(c.number).limit(limit))
    return [_notice(row) for row in rows.mappings()]


def next_notice(subject: Subject, after: int, notices: Sequence[SealedWorkNotice], concerned: Concerned) -> NextNotice:
    """The first of ``notices`` after a number that this webhook hears."""
    for each in notices:
        if each.number <= after:
            continue
        after = each.number
        if subject.hears_of(each.bounty_id, concerned) or subject.account == each.solver:
            return NextNotice(each, after)
    return NextNotice(None, after)


def _notice(row: RowMapping) -> SealedWorkNotice:
    return SealedWorkNotice(
        number=row["number"],
        kind=WorkNotice(row["kind"]),
        bounty_id=BountyId(row["bounty_id"]),
        solver=Address(row["solver"]),
        submission_commitment=Bytes32(row["submission_commitment"]),
        at=UnixSeconds(int(row["created_at"].timestamp())),
    )
