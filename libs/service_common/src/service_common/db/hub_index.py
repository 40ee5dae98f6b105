"""Schema ``hub_index``: the indexed copy of the Hub event log. Sole writer: the indexer.

One table per kind of fact, append-only; each row carries the block and log it came from. Nothing is updated: the
current state is the latest row, and a reorg is the deletion of every row from a block on. Rows of ``head`` are the
exception, one per chain, how far the copy is; and ``open_bounties``, which follows from the others.
"""

from collections.abc import Mapping
from typing import Final

from bounty_protocol.domain.lifecycle.hub_events import (
    BountyCreated,
    BountyFinalized,
    DeliveryKeyPublished,
    DeliveryKeyWithdrawn,
    FeePolicyChanged,
    GuardianHeartbeat,
    HubEvent,
    SubmissionRecorded,
    VerdictRecorded,
)
from sqlalchemy import Table, literal_column

from service_common.db.tables import read_tables

SCHEMA = "hub_index"
SCRATCH = "hub_index_scratch"
"""The same tables a second time, which a rebuild fills and then puts in the place of the copy that is read."""
TABLES: Final = read_tables(SCHEMA)
head = TABLES["head"]
"""``tip_number``: the newest block that the chain showed. ``updated_at``: of the last step, also one that found
nothing; no other writer's change is in between."""
logs = TABLES["logs"]
topic = logs.c.topics[literal_column("1")]
"""Which event a log is of. The number is no parameter: an index is chosen by the text of its expression."""
bounties = TABLES["bounties"]
open_bounties = TABLES["open_bounties"]
"""Each bounty without a row in ``finalizations``, with its times. Nobody writes it: triggers keep it."""
submissions = TABLES["submissions"]
verdicts = TABLES["verdicts"]
finalizations = TABLES["finalizations"]
claims = TABLES["claims"]
rosters = TABLES["rosters"]
roster_members = TABLES["roster_members"]
heartbeats = TABLES["heartbeats"]
delivery_keys = TABLES["delivery_keys"]
delivery_key_withdrawals = TABLES["delivery_key_withdrawals"]
fee_policies = TABLES["fee_policies"]
totals = TABLES["totals"]
"""Totals of all bounties after each event that changes them; the newest row is the present."""
changes = TABLES["changes"]
"""Logs that the copy took in and took back, in that order: a log by its place, or without a ``log_index`` a
reorg or a rebuild that took every log out that is above the block. The numbers are this copy's own."""
FACTS: tuple[Table, ...] = tuple(table for table in TABLES.values() if table not in (head, changes, open_bounties))
"""Every table whose rows a reorg retracts."""
EVENT_TABLES: Final[Mapping[type[HubEvent], Table]] = {
    BountyCreated: bounties,
    SubmissionRecorded: submissions,
    VerdictRecorded: verdicts,
    BountyFinalized: finalizations,
    GuardianHeartbeat: heartbeats,
    DeliveryKeyPublished: delivery_keys,
    DeliveryKeyWithdrawn: delivery_key_withdrawals,
    FeePolicyChanged: fee_policies,
}
"""Events whose fields are the columns of one table."""
