"""Challenge pages as they are kept: the exact bytes, and what lists show of them."""

from typing import Any

from bounty_protocol.domain.challenge.page import ChallengePage
from bounty_protocol.types import Bytes32
from service_common.db import app as t
from service_common.db.engine import reading, writing
from sqlalchemy import Engine, exists, select
from sqlalchemy.dialects.postgresql import insert

from service_api.bounties.searching import folded_page
from service_api.storage.room import ROW_BYTES


def is_kept(engine: Engine, commitment: Bytes32) -> bool:
    """Return whether a page is here already, so that storing it again takes no room."""
    with reading(engine) as connection:
        return bool(
            connection.execute(select(exists().where(t.challenge_pages.c.spec_commitment == commitment))).scalar_one()
        )


def store_page(engine: Engine, commitment: Bytes32, page: bytes, challenge: ChallengePage) -> None:
    """Store a page under its commitment, with what lists show of it."""
    stored = {"content": page, "submission_deadline": challenge.submission_deadline}
    row = insert(t.challenge_pages).values(spec_commitment=commitment, pending_bytes=ROW_BYTES + len(page), **stored)
    summary = insert(t.challenge_summaries).values(spec_commitment=commitment, **shown_of(challenge))
    with writing(engine) as connection:
        for statement in (row, summary):
            connection.execute(statement.on_conflict_do_nothing())


def shown_of(challenge: ChallengePage) -> dict[str, Any]:
    """Return what lists show of a page and search in it, by column name."""
    title, summary = challenge.title, challenge.summary
    folded, grams = folded_page(title, summary)
    return {"title": title, "summary": summary, "tags": list(challenge.tags), "folded": folded, "grams": grams}
