"""Challenge pages as they are kept: the exact bytes, and what lists show of them."""

from service_common.db import app as t
from service_common.db.engine import writing
from service_common.domain.challenge import ChallengePage, parse_challenge
from service_common.domain.commitments import spec_commitment
from service_common.errors import ServiceError
from service_common.types import Bytes32
from sqlalchemy import Connection, Engine, exists, select
from sqlalchemy.dialects.postgresql import insert

MAX_FILLED = 500
"""Pages of a former release that one run reads."""


def store_page(engine: Engine, commitment: Bytes32, page: bytes, challenge: ChallengePage) -> None:
    """Content-addressed: a repeat writes the same bytes, and heals bytes that were altered since."""
    stored = {"content": page, "submission_deadline": challenge.submission_deadline}
    statement = insert(t.challenge_pages).values(spec_commitment=commitment, **stored)
    healed = statement.on_conflict_do_update(index_elements=["spec_commitment"], set_=stored)
    with writing(engine) as connection:
        connection.execute(healed)
        _summarize(connection, commitment, challenge)


def fill_summaries(engine: Engine) -> int:
    """Summarize pages that a release before stored; how many there were. Bytes that do not hash are left alone."""
    p, s = t.challenge_pages.c, t.challenge_summaries.c
    missing = select(p.spec_commitment, p.content).where(~exists().where(s.spec_commitment == p.spec_commitment))
    with writing(engine) as connection:
        rows = connection.execute(missing.limit(MAX_FILLED)).all()
        for row in rows:
            page = bytes(row.content)
            if spec_commitment(page) != row.spec_commitment:
                continue
            try:
                _summarize(connection, Bytes32(row.spec_commitment), parse_challenge(page))
            except ServiceError:
                continue
    return len(rows)


def _summarize(connection: Connection, commitment: Bytes32, challenge: ChallengePage) -> None:
    shown = {"title": challenge.title, "summary": challenge.summary}
    statement = insert(t.challenge_summaries).values(spec_commitment=commitment, **shown)
    connection.execute(statement.on_conflict_do_update(index_elements=["spec_commitment"], set_=shown))
