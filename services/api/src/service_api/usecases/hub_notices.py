"""Notices about the Hub: anyone brings one, the chain decides whether it is one, and the latest of each signer is kept.

What is shown is checked again, at most every few seconds, since a role or a Safe's owner may be gone. While the chain
does not answer it is shown as it was kept: who reads it checks it anyway.
"""

from collections.abc import Iterable
from functools import partial
from itertools import islice
from typing import Any, Final

from bounty_protocol.chain.hub import Hub
from bounty_protocol.chain.hub_notices import why_void
from bounty_protocol.chain.json_rpc import ChainUnavailable, RpcRefused
from bounty_protocol.domain.hub_notice import MOST_NOTICES, HubNotice, NoticeReason, NoticeSignature
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import Address, UnixSeconds
from service_common.db import app as t
from service_common.db.engine import reading, writing
from service_common.log import get_logger
from sqlalchemy import Connection, Row, delete, func, or_, select
from sqlalchemy.dialects.postgresql import insert

from service_api.dependencies import Dependencies
from service_api.metrics import HUB_NOTICES

CODE: Final = "invalid_hub_notice"
MOST_READ: Final = 64
"""Of one Hub: more accounts than are ever named within the life of a notice."""

log = get_logger(__name__)


def publish_notice(deps: Dependencies, notice: HubNotice) -> tuple[HubNotice, bool]:
    """Keep a notice that the chain bears out; what is kept of its signer, and whether that is new."""
    chain, n = deps.config.chain, t.hub_notices
    now = deps.clock.now()
    if issues := why_void(_hub(deps), chain.chain_id, notice, now):
        raise ServiceError(CODE, "This is no notice about this deployment's Hub that counts now.", issues=issues)
    row = {
        "hub_address": notice.hub_address,
        "signer": notice.signer,
        "reason": notice.reason.value,
        "issued_at": notice.issued_at,
        "expires_at": notice.expires_at,
        "signature": notice.signature,
    }
    statement = insert(n).values(row)
    keep = statement.on_conflict_do_update(
        index_elements=list(n.primary_key),
        set_=row,
        where=or_(n.c.issued_at < statement.excluded.issued_at, n.c.signature == _void_signature(deps, notice)),
    )
    with writing(deps.engine) as connection:
        is_new = connection.execute(keep.returning(n.c.signer)).first() is not None
        connection.execute(delete(n).where(n.c.expires_at <= func.extract("epoch", func.now())))
        kept = connection.execute(
            select(n).where(n.c.hub_address == notice.hub_address, n.c.signer == notice.signer)
        ).one()
    if is_new:
        HUB_NOTICES.labels(notice.reason).inc()
        log.warning("a notice about the Hub was published", signer=notice.signer, reason=notice.reason.value)
    return _notice(deps, kept), is_new


def _void_signature(deps: Dependencies, notice: HubNotice) -> NoticeSignature | None:
    """The signature of what is kept of the same account, where it does not count any more, so that it keeps no place.

    A Safe whose owners replaced a stolen key signs anew; what the thief signed with a later time is void.
    """
    n = t.hub_notices
    with reading(deps.engine) as connection:
        found = connection.execute(
            select(n).where(n.c.hub_address == notice.hub_address, n.c.signer == notice.signer)
        ).first()
    if found is None or found.signature == notice.signature:
        return None
    kept = _notice(deps, found)
    return kept.signature if why_void(_hub(deps), deps.config.chain.chain_id, kept, deps.clock.now()) else None


def read_notices(deps: Dependencies, connection: Connection) -> tuple[HubNotice, ...]:
    """The latest of each signer that are not over, the newest first; whether they still count is not looked at."""
    n = t.hub_notices.c
    of_hub = select(t.hub_notices).where(
        n.hub_address == deps.config.chain.hub_address, n.expires_at > deps.clock.now()
    )
    rows = connection.execute(of_hub.order_by(n.issued_at.desc(), n.signer).limit(MOST_READ))
    return tuple(_notice(deps, row) for row in rows)


def shown_notices(deps: Dependencies, kept: Iterable[HubNotice]) -> tuple[HubNotice, ...]:
    """Of these, those that count now."""
    counting = (notice for notice in kept if deps.notices.get(notice, partial(_counts, deps, notice)))
    return tuple(islice(counting, MOST_NOTICES))


def _counts(deps: Dependencies, notice: HubNotice) -> bool:
    try:
        return not why_void(_hub(deps), deps.config.chain.chain_id, notice, deps.clock.now())
    except (ChainUnavailable, RpcRefused) as error:
        log.warning("a notice about the Hub cannot be checked, and is shown", reason=str(error))
        return True


def _hub(deps: Dependencies) -> Hub:
    return Hub(deps.notice_rpc, deps.config.chain.hub_address)


def _notice(deps: Dependencies, row: Row[Any]) -> HubNotice:
    return HubNotice(
        chain_id=deps.config.chain.chain_id,
        hub_address=Address(row.hub_address),
        signer=Address(row.signer),
        reason=NoticeReason(row.reason),
        issued_at=UnixSeconds(row.issued_at),
        expires_at=UnixSeconds(row.expires_at),
        signature=NoticeSignature(row.signature),
    )
