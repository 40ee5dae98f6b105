"""How far the copy is, as metrics, read from the copy itself at each scrape: every process shows the same."""

from collections.abc import Callable, Iterator
from typing import Any

from bounty_protocol.chain.endpoints import Endpoints
from bounty_protocol.clock import Clock
from bounty_protocol.domain.lifecycle.hub_events import OwnershipTransferred, OwnershipTransferStarted
from bounty_protocol.types import ChainId
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from service_common.db import hub_index as t
from service_common.db.engine import reading
from service_common.db.hub_reads import Head, of_no_bounty, read_head, read_totals
from sqlalchemy import Column, Connection, Engine, Select, Table, func, select, text

from service_indexer.deadlines import read_due


def index_figures(engine: Engine, chain_id: ChainId, clock: Clock) -> Iterator[Metric]:
    """Yield blocks, lag, reorgs and halt of one chain's copy."""
    with reading(engine) as connection:
        head = read_head(connection, chain_id)
        states = _bounties(connection, head) if head is not None else {}
        acts = _acts_of_the_owner(connection)
        archived = archived_seconds(connection)
    if archived is not None:
        yield GaugeMetricFamily(
            "service_wal_archived_seconds",
            "Time since the database's log was last archived, if it is archived regularly",
            archived,
        )
    if head is None:
        return
    bounties = GaugeMetricFamily(
        "service_bounties", "Indexed bounties that are `open`, `final`, `overdue`", labels=["state"]
    )
    for state, count in states.items():
        bounties.add_metric([state], count)
    yield bounties
    owners = GaugeMetricFamily(
        "service_hub_owner_events",
        "How often the Hub's owner did each of what it can do; `FeeRecipientChanged` is a "
        "fee policy with another recipient",
        labels=["event"],
    )
    for event, count in acts.items():
        owners.add_metric([event], count)
    yield owners
    yield GaugeMetricFamily("service_index_block", "Newest indexed block", head.block_number)
    yield GaugeMetricFamily("service_index_finalized_block", "Newest finalized block", head.finalized_number)
    lag = max(0, clock.now() - head.block_time)
    yield GaugeMetricFamily("service_index_lag_seconds", "Age of the newest indexed block", lag)
    yield GaugeMetricFamily("service_index_finality_lag_seconds", "Block to finality", head.finality_lag_seconds)
    yield GaugeMetricFamily("service_index_halted", "1 when the copy is halted", float(head.halted is not None))
    behind = max(0, head.tip_number - head.block_number)
    yield GaugeMetricFamily("service_index_lag_blocks", "Blocks the copy was behind at its last check", behind)
    yield CounterMetricFamily("service_index_reorgs", "Reorgs repaired", head.reorg_count)
    yield GaugeMetricFamily("service_index_deepest_reorg", "Depth of the deepest reorg, in blocks", head.deepest_reorg)


def endpoint_figures(endpoints: Endpoints, look: Callable[[], object]) -> Iterator[Metric]:
    """Yield the conduct of the process's own endpoints; ``look`` begins to ask those that nothing else asks."""
    look()
    preferred = GaugeMetricFamily(
        "service_rpc_endpoint_preferred", "1 for the endpoint that is queried first", labels=["endpoint"]
    )
    failures = GaugeMetricFamily(
        "service_rpc_endpoint_failures", "Failures of an endpoint in a row", labels=["endpoint"]
    )
    contradictions = GaugeMetricFamily(
        "service_rpc_endpoint_contradictions", "Times an endpoint was outvoted by the quorum", labels=["endpoint"]
    )
    for each in endpoints.all:
        place = [str(each.place)]
        preferred.add_metric(place, float(each is endpoints.preferred))
        failures.add_metric(place, each.failures)
        contradictions.add_metric(place, each.contradictions)
    yield from (preferred, failures, contradictions)


def archived_seconds(connection: Connection) -> float | None:
    """Return the seconds since the last archived WAL file; None if archiving is off or untimed. They also grow while
    nothing is written."""
    age = connection.execute(
        text(
            "SELECT extract(epoch FROM clock_timestamp() - coalesce(last_archived_time, stats_reset)) "
            "FROM pg_stat_archiver "
            "WHERE current_setting('archive_mode') <> 'off' AND current_setting('archive_timeout') <> '0'"
        )
    ).scalar_one_or_none()
    return None if age is None else max(0.0, float(age))


def _acts_of_the_owner(connection: Connection) -> dict[str, int]:
    """Return the number of the owner's actions by kind; a new fee recipient is counted separately from other fee
    policies.
    """
    policies = select(
        t.fee_policies.c.recipient,
        func.lag(t.fee_policies.c.recipient).over(order_by=_in_order(t.fee_policies)).label("former"),
    ).subquery()
    recipients = select(func.count()).where(policies.c.recipient != policies.c.former)
    counted: dict[str, Select[Any]] = {
        "RosterPublished": select(func.count()).select_from(t.rosters),
        "DeliveryKeyPublished": select(func.count()).select_from(t.delivery_keys),
        "DeliveryKeyWithdrawn": select(func.count()).select_from(t.delivery_key_withdrawals),
        "FeePolicyChanged": select(func.count()).select_from(t.fee_policies),
        "FeeRecipientChanged": recipients,
        # These have no table of their own.
        **{
            kind.__name__: select(func.count()).select_from(t.logs).where(of_no_bounty(kind))
            for kind in (OwnershipTransferStarted, OwnershipTransferred)
        },
    }
    return {name: int(connection.execute(query).scalar_one()) for name, query in counted.items()}


def _in_order(table: Table) -> tuple[Column[Any], ...]:
    return table.c.block_number, table.c.log_index


def _bounties(connection: Connection, head: Head) -> dict[str, int]:
    """Return how many are open, final, and past the time from which anyone may settle them (at most as many as are
    listed).
    """
    totals = read_totals(connection)
    return {"open": totals.open, "final": totals.final, "overdue": len(read_due(connection, head))}
