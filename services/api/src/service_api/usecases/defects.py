"""The inspections' findings: ``app.defects``, each with its bounty, until it is whole again."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bounty_protocol.types import BountyId
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.log import get_logger
from sqlalchemy import Engine, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

log = get_logger(__name__)
NO_BOUNTY: Final = BountyId(0)


class Walk(StrEnum):
    """An inspection of all rows of one kind."""

    TITLES = "titles"
    RECORDS = "records"
    OBJECTS = "objects"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Looked:
    """One subject of an inspection: after which the next one comes, and what of which bounty is wrong with it."""

    position: str
    subject: str
    bounty_id: BountyId = NO_BOUNTY
    what: str | None = None


def note(engine: Engine, name: Walk, batch: Sequence[Looked]) -> None:
    """The findings, and how far the walk is."""
    d, i = t.defects, t.inspections
    found = [each for each in batch if each.what is not None]
    whole = [each.subject for each in batch if each.what is None]
    with writing(engine) as connection:
        connection.execute(delete(d).where(d.c.inspection == name, d.c.subject.in_(whole)))
        for each in found:
            row = {"inspection": name, "subject": each.subject, "bounty_id": each.bounty_id, "what": each.what}
            again = {"what": each.what, "seen_at": func.now()}
            added = insert(d).values(row).on_conflict_do_update(index_elements=list(d.primary_key), set_=again)
            connection.execute(added)
        connection.execute(update(i).where(i.c.name == name).values(position=batch[-1].position))
    for each in found:
        log.error("kept data is damaged", bounty_id=each.bounty_id, subject=each.subject, what=each.what)


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
