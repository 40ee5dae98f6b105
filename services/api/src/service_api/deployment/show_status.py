"""How this deployment does, for anyone to see: how far its index is, whether its chain makes blocks, and what all
bounties come to."""

from dataclasses import replace
from importlib import metadata
from typing import Final

from bounty_protocol.domain.lifecycle.halts import STANDS_STILL_SECONDS
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import TokenAmount, UnixSeconds
from bounty_protocol.wire.deployment import (
    Announcements,
    ChainHead,
    DeploymentStatus,
    DeploymentTotals,
    IndexPosition,
    KeyAnnouncement,
)
from bounty_protocol.wire.values import IndexState
from service_common.db import hub_index as t
from service_common.db.engine import reading
from service_common.db.errors import DatabaseUnavailable
from service_common.db.hub_facts import MAX_LAG_SECONDS, FactSource
from service_common.db.hub_reads import (
    Head,
    read_announced_roster,
    read_delivery_keys,
    read_head,
    read_offered_owner,
    read_totals,
)
from sqlalchemy import Connection, func, select

from service_api.storage.missing import count_missing

VERSION: Final = metadata.version("service-api")


def show_status(source: FactSource) -> DeploymentStatus:
    """Return the body of ``GET /api/status``, even while there is no index to read."""
    nothing = DeploymentStatus(
        IndexState.UNAVAILABLE, source.chain_id, source.hub_address, VERSION, position=None, totals=None, announced=None
    )
    try:
        with reading(source.engine) as connection:
            head = read_head(connection, source.chain_id)
            if head is None:
                return replace(nothing, state=IndexState.STARTING)
            source.require_hub(head)
            return status_of(source, connection, head, read_deployment_totals(connection, head.block_time))
    except (DatabaseUnavailable, ServiceError):
        return nothing


def status_of(source: FactSource, connection: Connection, head: Head, totals: DeploymentTotals) -> DeploymentStatus:
    """Return how the deployment does at one moment of its index."""
    lag = max(0, source.clock.now() - head.block_time)
    state = IndexState.BEHIND if lag > MAX_LAG_SECONDS else IndexState.FOLLOWING
    return DeploymentStatus(
        state if head.halted is None else IndexState.HALTED,
        source.chain_id,
        source.hub_address,
        VERSION,
        position=_position(head, lag),
        totals=totals,
        announced=_announced(connection, head.block_time),
        chain_head=ChainHead(head.block_time, lag, lag > STANDS_STILL_SECONDS) if head.shows_tip else None,
        lost_submission_count=count_missing(connection),
    )


def _announced(connection: Connection, now: UnixSeconds) -> Announcements:
    key = read_delivery_keys(connection, now).announced
    return Announcements(
        guardian_roster=read_announced_roster(connection, now),
        delivery_key=None if key is None else KeyAnnouncement(key.key, key.begins),
        new_owner=read_offered_owner(connection),
    )


def _position(head: Head, lag: int) -> IndexPosition:
    return IndexPosition(
        block_number=head.block_number,
        block_hash=head.block_hash,
        block_time=head.block_time,
        finalized_block_number=head.finalized_number,
        finalized_block_time=head.finalized_time,
        tip_block_number=head.tip_number,
        lag_seconds=lag,
        finality_seconds=head.finality_lag_seconds,
        reorg_count=head.reorg_count,
        deepest_reorg=head.deepest_reorg,
    )


def read_deployment_totals(connection: Connection, now: UnixSeconds) -> DeploymentTotals:
    """Return the totals of all bounties at a given time."""
    kept, c = read_totals(connection), t.open_bounties.c
    counted = select(
        func.count().filter(c.submission_deadline > now).label("accepting"),
        func.count().filter(c.judging_deadline > now, c.reveal_at <= now).label("judgeable"),
    )
    now_open = connection.execute(counted).one()
    return DeploymentTotals(
        bounty_count=kept.bounties,
        open_count=kept.open,
        accepting_count=now_open.accepting,
        judgeable_count=now_open.judgeable,
        awarded_count=kept.awarded,
        unawarded_count=kept.unawarded,
        escrow_held=TokenAmount(kept.held),
        awards_paid=TokenAmount(kept.awards_paid),
        refunds_paid=TokenAmount(kept.refunds_paid),
        guardian_fees_paid=TokenAmount(kept.guardian_fees_paid),
        protocol_fees_paid=TokenAmount(kept.protocol_fees_paid),
    )
