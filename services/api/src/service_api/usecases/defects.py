"""The inspections' findings: ``app.defects``, each with its bounty, until it is whole again."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from bounty_protocol.types import Address, BountyId, Bytes32
from service_common.db import app as t
from service_common.db.app import WorkNotice
from service_common.db.engine import reading, writing
from service_common.db.notifications import Channel, notify
from service_common.log import get_logger
from sqlalchemy import Connection, Engine, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert

log = get_logger(__name__)
NO_BOUNTY: Final = BountyId(0)
NOTICE_LIFETIME: Final = timedelta(days=30)
_LOCK: Final = 0x5EC0_DEFE


class Walk(StrEnum):
    """An inspection of all rows of one kind."""

    TITLES = "titles"
    VERDICTS = "verdicts"
    RECORDS = "records"
    ENVELOPES = "envelopes"
    OBJECTS = "objects"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Looked:
    """One subject of an inspection: after which the next one comes, and what of which bounty is wrong with it."""

    position: str
    subject: str
    bounty_id: BountyId = NO_BOUNTY
    what: str | None = None
    solver: Address | None = None
    """Whose sealed work it is, of an inspection of that."""
    is_lost: bool = False
    """Whether the storage does not have that work, so that nobody can read it."""


def note(engine: Engine, name: Walk, batch: Sequence[Looked]) -> None:
    """The findings, how far the walk is, and a notice of each work that is now lost, or there again."""
    i = t.inspections
    with writing(engine) as connection:
        _write(connection, name, batch)
        connection.execute(update(i).where(i.c.name == name).values(position=batch[-1].position))
    for each in batch:
        if each.what is not None:
            log.error("kept data is damaged", bounty_id=each.bounty_id, subject=each.subject, what=each.what)


def note_again(engine: Engine, looked: Looked, *, is_hashed: bool) -> None:
    """A finding about work that was known to be lost; of bytes that were just hashed it is hashing's finding, too."""
    d = t.defects.c
    names = (Walk.OBJECTS, Walk.BYTES) if is_hashed else (Walk.OBJECTS,)
    with writing(engine) as connection:
        known = connection.execute(select(d.inspection).where(d.subject == looked.subject)).scalars().all()
        for name in names:
            if name in known:
                _write(connection, name, [looked])


@dataclass(frozen=True, slots=True)
class KnownDefect:
    """One finding that is kept."""

    inspection: Walk
    subject: str
    bounty_id: BountyId
    found_at: datetime


def list_known(engine: Engine) -> list[KnownDefect]:
    """Every finding, by bounty."""
    d = t.defects
    with reading(engine) as connection:
        rows = connection.execute(select(d).order_by(d.c.bounty_id, d.c.inspection, d.c.subject)).all()
    return [KnownDefect(Walk(row.inspection), row.subject, BountyId(row.bounty_id), row.found_at) for row in rows]


def note_known(engine: Engine, name: Walk, found: Sequence[Looked]) -> None:
    """What was found when known subjects were looked at once more; no walk gets further by it."""
    with writing(engine) as connection:
        _write(connection, name, found)


def lost_as(engine: Engine, name: Walk, subject: str) -> str | None:
    """What an inspection has found of work that it knows as lost."""
    d = t.defects.c
    lost = (d.inspection == name) & (d.subject == subject) & d.lost_by.is_not(None)
    with reading(engine) as connection:
        return connection.execute(select(d.what).where(lost)).scalar()


def forget(engine: Engine, known: KnownDefect) -> None:
    """Delete a finding of what is not looked at any more, as the end of a walk does. It is no restored work."""
    d = t.defects.c
    named = (d.inspection == known.inspection) & (d.subject == known.subject)
    with writing(engine) as connection:
        connection.execute(delete(t.defects).where(named))


def _write(connection: Connection, name: Walk, batch: Sequence[Looked]) -> None:
    """One writer at a time until its end: what is lost now is compared with what was, and notices commit by number."""
    d = t.defects
    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    subjects = {each.subject for each in batch}
    before = _lost(connection, subjects)
    whole = [each.subject for each in batch if each.what is None]
    connection.execute(delete(d).where(d.c.inspection == name, d.c.subject.in_(whole)))
    for each in batch:
        if each.what is None:
            continue
        row = {"inspection": name, "subject": each.subject, "bounty_id": each.bounty_id, "what": each.what}
        added = insert(d).values(row | {"lost_by": each.solver if each.is_lost else None})
        # what was lost, and is not verified yet since it was put back, stays so until it is
        lost_by = func.coalesce(added.excluded.lost_by, d.c.lost_by)
        again = {"what": each.what, "seen_at": func.now(), "lost_by": lost_by}
        connection.execute(added.on_conflict_do_update(index_elements=list(d.primary_key), set_=again))
    after = _lost(connection, subjects)
    for kind, works in ((WorkNotice.LOST, after - before), (WorkNotice.RESTORED, before - after)):
        for bounty_id, solver, commitment in sorted(works):
            row = {"kind": kind, "bounty_id": bounty_id, "solver": solver, "submission_commitment": commitment}
            connection.execute(insert(t.work_notices).values(row))
            log.warning("sealed work", state=kind, bounty_id=bounty_id, submission_commitment=commitment)
    if before != after:
        notify(connection, Channel.TO_SEND)


def _lost(connection: Connection, subjects: Collection[str]) -> set[tuple[int, str, str]]:
    d = t.defects.c
    found = select(d.bounty_id, d.lost_by, d.subject).where(d.subject.in_(subjects), d.lost_by.is_not(None))
    return {(row.bounty_id, row.lost_by, row.subject) for row in connection.execute(found)}


@dataclass(frozen=True, slots=True)
class LostWork:
    """Sealed work that is known to be lost. ``found_at``: when the last inspection found that."""

    bounty_id: BountyId
    solver: Address
    commitment: Bytes32
    found_at: datetime


def list_lost(engine: Engine, most: int) -> list[LostWork]:
    """Some of it, other each time: no look at work that stays lost keeps the rest from being looked at."""
    d = t.defects.c
    found = select(d.bounty_id, d.lost_by, d.subject, func.max(d.found_at)).where(d.lost_by.is_not(None))
    some = found.group_by(d.bounty_id, d.lost_by, d.subject).order_by(func.random()).limit(most)
    with reading(engine) as connection:
        return [LostWork(BountyId(row[0]), Address(row[1]), row[2], row[3]) for row in connection.execute(some)]


def delete_old_notices(engine: Engine) -> None:
    """A receiver that does not answer is switched off after days."""
    c = t.work_notices.c
    with writing(engine) as connection:
        connection.execute(delete(t.work_notices).where(c.created_at < func.now() - NOTICE_LIFETIME))


def count_defects(engine: Engine) -> dict[str, int]:
    """How many are known of each inspection."""
    d = t.defects.c
    with reading(engine) as connection:
        rows = connection.execute(select(d.inspection, func.count()).group_by(d.inspection)).all()
    return dict.fromkeys(Walk, 0) | {row[0]: row[1] for row in rows}


def list_defects(engine: Engine) -> list[str]:
    """One line for each, by bounty."""
    d = t.defects.c
    with reading(engine) as connection:
        rows = connection.execute(select(t.defects).order_by(d.bounty_id, d.inspection, d.subject)).all()
    return [f"bounty {row.bounty_id}: {row.subject}: {row.what} (since {row.found_at:%Y-%m-%d %H:%M})" for row in rows]
