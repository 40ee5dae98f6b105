"""The condition of each filter on a bounty of the list."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from bounty_protocol.domain.lifecycle.states import BountyStatus
from service_common.db import app
from service_common.db import hub_index as t
from sqlalchemy import ColumnElement, Numeric, and_, exists, literal

from service_api.moderation.texts import is_page_shown

AWARD: Final = t.bounties.c.escrow_amount - t.bounties.c.protocol_fee - t.bounties.c.guardian_fee
IS_FINAL: Final = t.finalizations.c.bounty_id.is_not(None)
IS_OPEN: Final = t.open_bounties.c.bounty_id.is_not(None)
TEXTS: Final = app.challenge_summaries.c
IS_SHOWN: Final = is_page_shown(t.bounties.c.spec_commitment, t.bounties.c.poster)
HAS_PAGE: Final = and_(TEXTS.spec_commitment == t.bounties.c.spec_commitment, IS_SHOWN)
"""What is withheld has no title, and no search or tag finds it."""
SOURCE: Final = (
    t.bounties.outerjoin(t.finalizations, t.finalizations.c.bounty_id == t.bounties.c.bounty_id)
    .outerjoin(t.open_bounties, t.open_bounties.c.bounty_id == t.bounties.c.bounty_id)
    .outerjoin(app.challenge_summaries, HAS_PAGE)
)
"""A bounty with what is known of its end, too."""


FILTERS: Final[Mapping[str, Callable[[Any], ColumnElement[bool]]]] = {
    "status": lambda status: IS_OPEN if status is BountyStatus.OPEN else IS_FINAL,
    "solver_address": lambda solver: exists().where(
        t.submissions.c.bounty_id == t.bounties.c.bounty_id, t.submissions.c.solver == solver
    ),
    "poster_address": lambda poster: t.bounties.c.poster == poster,
    "min_award": lambda least: literal(least, Numeric) <= AWARD,
    "max_award": lambda most: literal(most, Numeric) >= AWARD,
    "deadline_after": lambda moment: t.bounties.c.submission_deadline > moment,
    "deadline_before": lambda moment: t.bounties.c.submission_deadline < moment,
}
"""Those that depend neither on time nor on rosters, and ask nothing of the page."""
