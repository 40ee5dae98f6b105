"""The quota of readiness reviews: rows, counted for one Poster under a lock, over a rolling 24 hours.

Never more reviews are charged than the quota, however many requests come at once. A charge counts while its review may
still run and once it came to a judgement; one whose review came to nothing stops counting, also when no request was
left waiting to take it back. Only the request that made a charge takes it back, so that no later attempt loses its own.
"""

import secrets
import time
from datetime import timedelta
from typing import Final

from bounty_protocol.clock import iso_utc
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, Bytes32
from service_common.db import app as t
from service_common.db.engine import writing
from service_common.db.review import reviews
from sqlalchemy import Engine, delete, func, or_, select, text
from sqlalchemy.dialects.postgresql import insert

QUOTA_WINDOW: Final = timedelta(hours=24)
PENDING: Final = timedelta(minutes=10)
"""How long a review may take, with its time in the queue, before its charge stops counting without a result."""


def charge(engine: Engine, quota: int, identifier: Bytes32, poster: Address) -> str | None:
    """Charge this review once, up to a number per window; return the attempt, or None if a running review is joined.

    Raises 429 with the time at which a charge leaves the window.
    """
    c = t.review_charges.c
    attempt = secrets.token_hex(16)
    with writing(engine) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:poster, 7))"), {"poster": poster})
        pending = c.charged_at > func.now() - PENDING
        if connection.execute(select(c.review_id).where(c.review_id == identifier, pending)).first() is not None:
            return None
        counted = (
            select(c.charged_at)
            .outerjoin(reviews, reviews.c.review_id == c.review_id)
            .where(c.poster == poster, c.charged_at > func.now() - QUOTA_WINDOW, c.review_id != identifier)
            .where(or_(reviews.c.review_id.is_not(None), pending))
            .order_by(c.charged_at)
        )
        others = connection.execute(counted).scalars().all()
        if len(others) >= quota:
            frees_at = others[len(others) - quota] + QUOTA_WINDOW
            message = "The review quota of this Poster for the last 24 hours is used up."
            raise limit_reached(message, int(frees_at.timestamp()) + 1)
        made = insert(t.review_charges).values(review_id=identifier, poster=poster, attempt=attempt)
        renewed = {"charged_at": func.now(), "attempt": attempt}
        connection.execute(made.on_conflict_do_update(index_elements=["review_id"], set_=renewed))
    return attempt


def refund(engine: Engine, attempt: str | None) -> None:
    """Refund the charge of an attempt that ended without a judgement, unless another attempt succeeded meanwhile."""
    if attempt is not None:
        c = t.review_charges.c
        judged = select(reviews.c.review_id).where(reviews.c.review_id == c.review_id).exists()
        with writing(engine) as connection:
            connection.execute(delete(t.review_charges).where(c.attempt == attempt, ~judged))


def confirm(engine: Engine, identifier: Bytes32, poster: Address) -> None:
    """Confirm the charge of a joined review that came to a judgement, even if the review's starter was refunded
    meanwhile.
    """
    made = insert(t.review_charges).values(review_id=identifier, poster=poster)
    with writing(engine) as connection:
        connection.execute(made.on_conflict_do_nothing())


def limit_reached(message: str, frees_at: int) -> ServiceError:
    """Return 429 with when another attempt is permitted, as a moment and as a wait."""
    wait, moment = max(1, frees_at - int(time.time())), iso_utc(frees_at)
    return ServiceError("publication_review_limit_reached", message, retry_after=wait, retry_not_before=moment)
