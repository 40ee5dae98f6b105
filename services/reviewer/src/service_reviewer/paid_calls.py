"""The deployment's cap on paid reviews: rows, counted under a lock, over a rolling 24 hours.

The cap holds for all workers together. The last ``RESERVED`` part of it is for Posters who have a bounty on chain:
accounts cost nothing, and a few dozen of them could use up a day's reviews. A refusal carries the time at which the row
that is in its way leaves the window.
"""

import secrets
from datetime import timedelta
from typing import Final

from bounty_protocol.types import Bytes32, UnixSeconds
from service_common.db.engine import writing
from service_common.db.expiry import delete_where
from service_common.db.review import paid_calls
from sqlalchemy import Engine, delete, func, insert, select, text

from service_reviewer.judgement import NoJudgement

WINDOW: Final = timedelta(hours=24)
RESERVED: Final = 5
"""A fraction, one in this many."""


def take_call(engine: Engine, cap: int, review_id: Bytes32, *, has_bounty: bool) -> str:
    """Count one call for a review, and return its id; ``publication_review_limit_reached`` if none is left."""
    most = cap if has_bounty else cap - cap // RESERVED
    call_id, called_at = secrets.token_hex(16), paid_calls.c.called_at
    with writing(engine) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('review.paid_calls', 7))"))
        recent = select(called_at).where(called_at > func.now() - WINDOW).order_by(called_at.desc())
        kept = connection.execute(recent.limit(most)).scalars().all()
        if len(kept) >= most:
            frees_at = kept[-1] + WINDOW if kept else connection.execute(select(func.now() + WINDOW)).scalar_one()
            retry_at = UnixSeconds(int(frees_at.timestamp()) + 1)
            raise NoJudgement("publication_review_limit_reached", retry_at=retry_at)
        connection.execute(insert(paid_calls).values(call_id=call_id, review_id=review_id))
    return call_id


def give_back_call(engine: Engine, call_id: str) -> None:
    """Remove the entry of a call that was not used."""
    with writing(engine) as connection:
        connection.execute(delete(paid_calls).where(paid_calls.c.call_id == call_id))


def forget_old_calls(engine: Engine) -> int:
    """Delete the calls that no cap counts any longer; return how many."""
    return delete_where(engine, paid_calls, paid_calls.c.called_at < func.now() - 2 * WINDOW)
