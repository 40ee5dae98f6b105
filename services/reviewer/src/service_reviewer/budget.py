"""The deployment's cap on paid reviews: rows, counted under a lock, over a rolling 24 hours.

The cap holds for all workers together. The last ``RESERVED`` part of it is for Posters who have a bounty on chain:
accounts cost nothing, and a few dozen of them could use up a day's reviews. A refusal carries the time at which the row
that is in its way leaves the window.
"""

import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bounty_protocol.types import Bytes32, UnixSeconds
from service_common.db.engine import writing
from service_common.db.expiry import delete_where
from service_common.db.review import paid_calls
from sqlalchemy import Engine, delete, func, insert, select, text

from service_reviewer.providers.port import ProviderError

WINDOW: Final = timedelta(hours=24)
RESERVED: Final = 5
"""A fraction, one in this many."""


@dataclass(frozen=True, slots=True)
class DailyCap:
    """The budget from which one review takes its paid call."""

    engine: Engine
    cap: int
    review_id: Bytes32
    has_bounty: bool

    def take(self) -> str:
        """Take one call; ``publication_review_limit_reached`` when none is left."""
        most = self.cap if self.has_bounty else self.cap - self.cap // RESERVED
        call_id, called_at = secrets.token_hex(16), paid_calls.c.called_at
        with writing(self.engine) as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('review.paid_calls', 7))"))
            recent = select(called_at).where(called_at > func.now() - WINDOW).order_by(called_at.desc())
            kept = connection.execute(recent.limit(most)).scalars().all()
            if len(kept) >= most:
                frees_at = kept[-1] + WINDOW if kept else connection.execute(select(func.now() + WINDOW)).scalar_one()
                raise ProviderError(
                    "publication_review_limit_reached", retry_at=UnixSeconds(int(frees_at.timestamp()) + 1)
                )
            connection.execute(insert(paid_calls).values(call_id=call_id, review_id=self.review_id))
        return call_id

    def give_back(self, taken: str) -> None:
        """The call was not used."""
        with writing(self.engine) as connection:
            connection.execute(delete(paid_calls).where(paid_calls.c.call_id == taken))


def forget_old_calls(engine: Engine) -> int:
    """Delete the calls that no cap counts any more; how many."""
    return delete_where(engine, paid_calls, paid_calls.c.called_at < func.now() - 2 * WINDOW)
