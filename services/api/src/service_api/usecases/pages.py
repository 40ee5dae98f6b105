"""Challenge pages as they are kept: the exact bytes, and what lists show of them."""

from typing import Any

from bounty_protocol.domain.challenge import ChallengePage, parse_challenge
from bounty_protocol.domain.commitments import spec_commitment
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Bytes32
from service_common.db import app as t
from service_common.db.engine import reading, writing
from sqlalchemy import Connection, Engine, exists, select
from sqlalchemy.dialects.postgresql import insert

from service_api.searching import folded_page
from service_api.usecases.pending import ROW_BYTES

BATCH = 500
"""Pages of a former release that are read at once; a run ends when it has summarized that many."""


def is_kept(engine: Engine, commitment: Bytes32) -> bool:
    """Whether a page is here already, so that storing it again takes no room."""
    with reading(engine) as connection:
        return bool(
            connection.execute(select(exists().where(t.challenge_pages.c.spec_commitment == commitment))).scalar_one()
        )


def store_page(engine: Engine, commitment: Bytes32, page: bytes, challenge: ChallengePage) -> None:
    """Content-addressed: a repeat writes the same bytes, and heals bytes that were altered since."""
    stored = {"content": page, "submission_deadline": challenge.submission_deadline}
    statement = insert(t.challenge_pages).values(
        spec_commitment=commitment, pending_bytes=ROW_BYTES + len(page), **stored
    )
    healed = statement.on_conflict_do_update(index_elements=["spec_commitment"], set_=stored)
    with writing(engine) as connection:
        connection.execute(healed)
        summarize(connection, commitment, challenge)


def fill_summaries(engine: Engine) -> int:
    """Summarize pages that a release before stored, or that it summarized without what search needs; how many there
    were. Bytes that do not hash are left alone."""
    p, s = t.challenge_pages.c, t.challenge_summaries.c
    whole = exists().where(s.spec_commitment == p.spec_commitment, s.folded.is_not(None))
    missing = select(p.spec_commitment, p.content).where(~whole)
    found, filled, last = 0, 0, ""
    while filled < BATCH:
        with writing(engine) as connection:
            # From the last one on: however many are left alone, the others have their turn.
            later = missing.where(p.spec_commitment > last).order_by(p.spec_commitment).limit(BATCH)
            rows = connection.execute(later).all()
            filled += sum(_fill(connection, Bytes32(row.spec_commitment), bytes(row.content)) for row in rows)
        if not rows:
            break
        found, last = found + len(rows), rows[-1].spec_commitment
    return found


def _fill(connection: Connection, commitment: Bytes32, page: bytes) -> bool:
    if spec_commitment(page) != commitment:
        return False
    try:
        summarize(connection, commitment, parse_challenge(page))
    except ServiceError:
        return False
    return True


def shown_of(challenge: ChallengePage) -> dict[str, Any]:
    """What lists show of a page, and find it by, by the name of its column."""
    found = folded_page(challenge.title, challenge.summary)._asdict()
    return {"title": challenge.title, "summary": challenge.summary, "tags": list(challenge.tags), **found}


def summarize(connection: Connection, commitment: Bytes32, challenge: ChallengePage) -> None:
    """Write what lists show of a page."""
    shown = shown_of(challenge)
    statement = insert(t.challenge_summaries).values(spec_commitment=commitment, **shown)
    connection.execute(statement.on_conflict_do_update(index_elements=["spec_commitment"], set_=shown))
